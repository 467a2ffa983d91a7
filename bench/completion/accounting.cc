#include "bench/completion/accounting.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <list>
#include <map>
#include <sstream>

namespace bench {

namespace {

// Measured by the paper's authors: seconds from the start to the first iteration.
struct Overheads {
  const char* model;
  std::array<double, 6> by_size;  // 1, 2, 4, 8, 16, 32 devices
};
constexpr std::array<Overheads, 8> kOverheads = {{{"vgg16", {7, 7, 8, 9, 9, 10}},
                                                  {"vgg19", {7, 7, 8, 9, 10, 10}},
                                                  {"resnet18", {4, 5, 5, 7, 7, 7}},
                                                  {"shufflenet_v2_x1_0", {4, 4, 5, 5, 7, 8}},
                                                  {"bert", {10, 10, 10, 10, 10, 10}},
                                                  {"gpt2", {10, 10, 10, 10, 10, 10}},
                                                  {"a2c", {38, 39, 39, 46, 46, 46}},
                                                  {"dqn", {5, 5, 6, 6, 8, 8}}}};
// An iteration takes so many times what was profiled, by the number of jobs that take turns; with
// one this is in Job::iteration already.
constexpr double kSlower = 1.015;
constexpr std::array<double, 5> kSlowerInTurns = {0, 1, 1.33 / kSlower, 1.5 / kSlower,
                                                  1.37 / kSlower};

bool close(double a, double b, double relative = 1e-9) {
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

// What a job did since it was last looked at.
void advance(Active& active, double now) {
  double span = now - active.checked;
  active.checked = now;
  if (!active.running) return;
  active.left -= std::max(span - active.overhead, 0.0) / active.round;
  active.held += span;
}

double end_of(const Active& active, double now) {
  return now + active.left * active.round;
}

class Replay {
 public:
  Replay(const std::vector<Job>& trace, Scheduler& scheduler)
      : trace_(trace), scheduler_(scheduler), started_(trace.size(), -1) {}

  Outcome run() {
    while (next_ < trace_.size() || !active_.empty()) step();
    return result();
  }

 private:
  void step() {
    double arrival = next_ < trace_.size() ? trace_[next_].submit : kNever;
    double end = kNever;
    for (const Active* active : active_)
      if (active->running) end = std::min(end, end_of(*active, now_));
    double review = scheduler_.review(active_, now_);
    double now = std::min({arrival, end, review});
    if (now == kNever) {
      std::fprintf(stderr, "the scheduler lets %zu jobs wait for ever\n", active_.size());
      std::exit(1);
    }
    if (end <= now) finish(now);
    if (arrival <= now) arrive(now);
    for (Active* active : active_) advance(*active, now);
    now_ = now;
    apply(scheduler_.choose(active_, now));
  }

  void finish(double now) {
    std::erase_if(active_, [&](Active* active) {
      if (!active->running || !close(end_of(*active, now_), now)) return false;
      active->left = 0;
      scheduler_.ended(*active, now);
      completions_.push_back(now - active->job->submit);
      makespan_ = now;
      std::erase_if(owned_, [&](const auto& owned) { return owned.get() == active; });
      return true;
    });
  }

  void arrive(double now) {
    for (; next_ < trace_.size() && close(trace_[next_].submit, now); ++next_) {
      owned_.push_back(std::make_unique<Active>());
      Active& active = *owned_.back();
      active.job = &trace_[next_];
      active.left = active.job->iterations;
      active.checked = active.job->submit;
      active_.push_back(&active);
      scheduler_.arrived(active, now);
    }
  }

  void apply(const std::vector<Group>& groups) {
    std::map<const Active*, const Group*> chosen;
    int used = 0;
    for (const Group& group : groups) {
      used += group.front()->job->devices;
      for (const Active* member : group) chosen[member] = &group;
    }
    if (used > kCapacity) {
      std::fprintf(stderr, "the scheduler gave away %d of %d devices\n", used, kCapacity);
      std::exit(1);
    }
    for (Active* active : active_) {
      auto found = chosen.find(active);
      if (found != chosen.end())
        start(*active, *found->second);
      else if (active->running)
        stop(*active);
    }
  }

  void start(Active& active, const Group& group) {
    std::vector<const Job*> members;
    active.overhead = 0;
    for (const Active* member : group) {
      members.push_back(member->job);
      active.overhead += member->job->overhead;
    }
    active.round = group.size() == 1 ? active.job->iteration : round_of(members);
    double& first = started_[static_cast<size_t>(active.job - trace_.data())];
    if (first < 0) first = now_;
    if (!active.running) {
      active.started = now_;
      kept_[&active] = active.left;
    }
    active.running = true;
  }

  void stop(Active& active) {
    active.running = false;
    ++preemptions_;
    if (!scheduler_.loses_work()) return;
    double before = kept_[&active];
    lost_ += (before - active.left) * active.job->iteration * active.job->devices;
    active.left = before;
  }

  Outcome result() {
    Outcome out;
    auto p99 = [](std::vector<double>& values) {
      std::sort(values.begin(), values.end());
      return values[static_cast<size_t>(static_cast<double>(values.size()) * 0.99)];
    };
    for (double completion : completions_) out.average += completion;
    out.average /= static_cast<double>(completions_.size());
    out.p99 = p99(completions_);
    out.makespan = makespan_;
    for (size_t i = 0; i < started_.size(); ++i) started_[i] -= trace_[i].submit;
    out.wait_p99 = p99(started_);
    out.preemptions = preemptions_;
    out.lost = lost_;
    return out;
  }

  const std::vector<Job>& trace_;
  Scheduler& scheduler_;
  size_t next_ = 0;  // to arrive
  double now_ = 0, makespan_ = 0, lost_ = 0;
  int preemptions_ = 0;
  std::list<std::unique_ptr<Active>> owned_;
  std::vector<Active*> active_;
  std::map<const Active*, double> kept_;  // iterations left when it last got its devices
  std::vector<double> started_, completions_;
};

// Of one order of the jobs over the four slots of a round, the time from round to round once it is
// steady: in step i the job of slot i+1 uses its last resource, that of i+2 its second, and that of
// i+3 its first, which takes two steps.
double round_in_order(const std::vector<const Job*>& order) {
  constexpr size_t kSlots = 4, kSteps = 2 * kSlots;
  std::array<double, kSteps + 1> time{};
  for (size_t i = 0; i < kSteps; ++i) {
    auto member = [&](size_t slot) -> const Job* {
      return slot % kSlots < order.size() ? order[slot % kSlots] : nullptr;
    };
    double& next = time[i + 1];
    if (const Job* job = member(i + 1)) next = std::max(next, time[i] + job->stages[2]);
    if (const Job* job = member(i + 2)) next = std::max(next, time[i] + job->stages[1]);
    if (const Job* job = member(i + 3); job && i > 0)
      next = std::max(next, time[i - 1] + job->stages[0]);
    bool steady =
        i >= kSlots && close(next - time[i + 1 - kSlots], time[i] - time[i - kSlots], 1e-3);
    if (steady && next > time[i + 1 - kSlots]) return next - time[i + 1 - kSlots];
  }
  return time[kSteps] - time[kSteps - kSlots];
}

}  // namespace

double round_of(const std::vector<const Job*>& jobs) {
  if (jobs.size() == 1) return jobs.front()->iteration;
  static std::map<std::vector<int>, double> known;  // by size and models
  std::vector<int> key{jobs.front()->devices};
  for (const Job* job : jobs) key.push_back(job->model);
  std::sort(key.begin() + 1, key.end());
  auto [found, fresh] = known.emplace(key, kNever);
  if (!fresh) return found->second;
  std::vector<const Job*> order = jobs;
  std::sort(order.begin(), order.end());
  do found->second = std::min(found->second, round_in_order(order));
  while (std::next_permutation(order.begin(), order.end()));
  if (jobs.size() == 2) {  // half a round each
    const auto &a = jobs[0]->stages, &b = jobs[1]->stages;
    found->second =
        std::min(found->second, std::max(a[0], b[1] + b[2]) + std::max(b[0], a[1] + a[2]));
  }
  return found->second *= kSlowerInTurns[jobs.size()];
}

std::vector<Job> read_trace(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  if (!line.starts_with("job_id,num_gpu,submit_time,iterations,model_name,")) {
    std::fprintf(stderr, "%s is not one of the Muri traces\n", path.c_str());
    std::exit(1);
  }
  std::vector<Job> out;
  while (std::getline(file, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream in(line);
    Job job;
    std::string model, skipped;
    in >> job.id >> job.devices >> job.submit >> job.iterations >> model >> skipped >> skipped >>
        skipped >> job.iteration >> job.stages[0] >> job.stages[1] >> job.stages[2];
    job.submit /= 1000;
    job.iteration *= kSlower / 1000;
    for (double& stage : job.stages) stage /= 1000;
    auto size = static_cast<size_t>(std::log2(job.devices));
    for (size_t i = 0; i < kOverheads.size(); ++i) {
      if (model != kOverheads[i].model) continue;
      job.model = static_cast<int>(i);
      job.overhead = kOverheads[i].by_size[size];
    }
    out.push_back(job);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Job& a, const Job& b) { return a.submit < b.submit; });
  return out;
}

Outcome run(const std::vector<Job>& trace, Scheduler& scheduler) {
  return Replay(trace, scheduler).run();
}

}  // namespace bench
