// How fast the planner decides, on clusters of different sizes: bench_placements
//
//   decisions NODES MIX OURS_PER_S P99_US SCAN_PER_S
//     One task after the other is placed; once nine tenths are given away, another ends first. In
//     turns with the same by a look at every node.
//   plan NODES STARTED MS
//     100,000 jobs wait, and one plan starts as many as fit on the empty cluster.
//   tick NODES US
//     The cluster is full and 100,000 jobs wait; one more is submitted, and planned for.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "base/check.h"
#include "base/rng.h"
#include "base/text.h"
#include "core/sched/planner.h"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;
using sched::Demand;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<sched::NodeView> make_nodes(size_t count) {
  std::vector<sched::NodeView> nodes;
  for (size_t i = 0; i < count; ++i) {
    sched::NodeView node{.name = cat(1'000'000 + i),
                         .closed_reason = {},
                         .cpus = {128'000},
                         .cpus_free = {128'000},
                         .memory = {1'000'000},
                         .memory_free = {1'000'000},
                         .devices = {}};
    for (int64_t d = 0; d < 8; ++d)
      node.devices.push_back({.uuid = cat("GPU-", node.name, "-", d),
                              .index = d,
                              .vendor = "nvidia",
                              .model = i % 4 == 0 ? "A100" : "H100",
                              .memory = {80'000}});
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Demand whole(int64_t devices) {
  return {.devices = devices, .cpus = MilliCpu{8000 * devices}, .memory = MiB{32'000 * devices}};
}
Demand part(int64_t milli) {
  return {.devices = 1,
          .fraction = MilliGpu{milli},
          .cpus = MilliCpu{8 * milli},
          .memory = MiB{32 * milli}};
}

struct Mix {
  const char* name;
  std::vector<Demand> demands;  // one as likely as another
};
std::vector<Mix> mixes() {
  Demand h100 = whole(1);
  h100.selector.model = "H100";
  return {
      {"whole", {whole(1), whole(1), whole(2), whole(4), whole(8), h100}},
      {"sliced", {part(100), part(250), part(500), part(700)}},
      {"both", {whole(1), whole(2), whole(4), whole(8), h100, part(250), part(500), part(700)}}};
}

struct Speed {
  double per_s = 0;
  double p99_us = 0;
};

// A cluster that is nine tenths full, where tasks come and go.
class Churn {
 public:
  Churn(size_t nodes, const std::vector<Demand>& demands)
      : demands_(demands), board_{sched::Cluster(make_nodes(nodes))} {
    sched::Arrivals arrivals;
    for (const Demand& demand : demands) arrivals.add(demand, 1);
    board_.set_mix(sched::make_mix(arrivals.known(), board_.cluster().kinds()));
    for (const Demand& demand : demands)
      asks_.push_back(sched::make_ask(board_.cluster(), demand, "default"));
    limit_ = static_cast<int64_t>(nodes) * 8000 * 9 / 10;
    while (held_milli_ < limit_ && step(false)) {
    }
  }

  Speed run(size_t decisions, bool scan) {
    std::vector<double> times;
    auto begin = Clock::now();
    for (size_t i = 0; i < decisions; ++i) {
      auto one = Clock::now();
      step(scan);
      times.push_back(seconds_since(one));
    }
    Speed out{.per_s = static_cast<double>(decisions) / seconds_since(begin)};
    auto p99 = times.begin() + static_cast<int64_t>(times.size() * 99 / 100);
    std::ranges::nth_element(times, p99);
    out.p99_us = *p99 * 1e6;
    return out;
  }

 private:
  bool step(bool scan) {
    size_t which = rng_.below(asks_.size());
    while (held_milli_ >= limit_) end_one();
    auto placement = sched::Placement::kFragmentation;
    std::optional<sched::Delta> place =
        scan ? board_.best_by_scan(asks_[which], placement) : board_.best(asks_[which], placement);
    if (!place) {
      end_one();
      return false;
    }
    board_.cluster().take(*place);
    board_.cluster().commit();
    held_milli_ += sched::charge_of(demands_[which]).value;
    held_.emplace_back(std::move(*place), which);
    return true;
  }
  void end_one() {
    std::swap(held_[rng_.below(held_.size())], held_.back());
    board_.cluster().give_back(held_.back().first);
    board_.cluster().commit();
    held_milli_ -= sched::charge_of(demands_[held_.back().second]).value;
    held_.pop_back();
  }

  const std::vector<Demand>& demands_;
  sched::Board board_;
  std::vector<sched::Ask> asks_;
  std::vector<std::pair<sched::Delta, size_t>> held_;
  int64_t held_milli_ = 0, limit_ = 0;
  Rng rng_{1};
};

void measure_decisions(size_t nodes) {
  for (const Mix& mix : mixes()) {
    Churn churn(nodes, mix.demands);
    churn.run(2000, false);
    std::vector<double> ours, p99, scan;
    for (int turn = 0; turn < 5; ++turn) {
      Speed fast = churn.run(20'000, false);
      ours.push_back(fast.per_s);
      p99.push_back(fast.p99_us);
      scan.push_back(churn.run(std::max<size_t>(20, 200'000 / nodes), true).per_s);
      churn.run(200, false);  // brings the rankings up to date after the scans
    }
    for (std::vector<double>* samples : {&ours, &p99, &scan}) std::ranges::sort(*samples);
    std::printf("decisions %zu %s %.0f %.1f %.0f\n", nodes, mix.name, ours[2], p99[2], scan[2]);
    std::fflush(stdout);
  }
}

sched::RequestPtr make_request(int64_t number, const Demand& demand, size_t tasks) {
  auto request = std::make_shared<sched::Request>();
  request->job = cat("default/job-", number);
  request->project = "default";
  request->demand = demand;
  for (size_t i = 0; i < tasks; ++i) request->tasks.push_back(cat("job-", number, "-", i));
  return request;
}

void submit(sched::Planner& planner, int64_t number, const Mix& mix) {
  // One of ten is a gang of four.
  size_t tasks = number % 10 == 0 ? 4 : 1;
  const Demand& demand = mix.demands[static_cast<size_t>(number) % mix.demands.size()];
  sched::RequestPtr request = make_request(number, demand, tasks);
  planner.queue.put({0, number, request->job}, request);
  planner.arrived(demand, static_cast<int64_t>(tasks));
}

void start(sched::Planner& planner, const sched::LinePlan& plan) {
  for (const sched::Decision& decision : plan.decisions) {
    sched::RequestPtr request = planner.queue.find(decision.job);
    for (const sched::Assignment& assignment : decision.tasks)
      planner.hold({.assignment = assignment,
                    .job = decision.job,
                    .project = request->project,
                    .charge = sched::charge_of(request->demand)});
    planner.queue.erase(decision.job);
  }
}

void measure_plans(size_t nodes) {
  const Mix both = mixes().back();
  sched::Planner planner;
  planner.set_nodes(make_nodes(nodes));
  int64_t number = 0;
  while (number < 100'000) submit(planner, ++number, both);
  auto begin = Clock::now();
  sched::LinePlan plan = planner.plan({}, Instant{0});
  double ms = seconds_since(begin) * 1e3;
  size_t started = 0;
  for (const sched::Decision& decision : plan.decisions) started += decision.tasks.size();
  std::printf("plan %zu %zu %.1f\n", nodes, started, ms);
  start(planner, plan);
  // As many wait again as did at first, and nothing more fits.
  while (planner.queue.size() < 100'000) submit(planner, ++number, both);
  start(planner, planner.plan({}, Instant{0}));
  std::vector<double> ticks;
  for (int i = 0; i < 101; ++i) {
    begin = Clock::now();
    submit(planner, ++number, both);
    CHECK(planner.plan({}, Instant{0}).decisions.empty());
    ticks.push_back(seconds_since(begin) * 1e6);
  }
  std::ranges::sort(ticks);
  std::printf("tick %zu %.1f\n", nodes, ticks[50]);
  std::fflush(stdout);
}

}  // namespace
}  // namespace tessera::bench

int main() {
  for (size_t nodes : {100, 1000, 5000, 20'000}) {
    tessera::bench::measure_decisions(nodes);
    tessera::bench::measure_plans(nodes);
  }
}
