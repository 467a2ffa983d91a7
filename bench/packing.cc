// Fills the cluster of the openb trace by the protocol of FGD (USENIX ATC'23) with several policies
// and prints how much of its accelerators is allocated in the end, in percent, for each seed:
//
//   bench_packing FOLDER LIST SEEDS [POLICY…]    →    LIST POLICY PERCENT PERCENT …
//
// Policies: random, bestfit and fgd, written anew after their description, and tessera, the
// product's planner with its default placement, which learns the mix of jobs as they come.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

#include "base/text.h"
#include "core/sched/board.h"

namespace tessera::bench {
namespace {

struct Pod {
  std::string name;
  int64_t cpus = 0, memory = 0, devices = 0, milli = 0;
  std::string models;  // joined by '|'; any when empty
  int64_t total() const { return devices * milli; }
  auto shape() const { return std::tie(cpus, milli, devices, models); }
};

struct Machine {
  int64_t cpus = 0, memory = 0;
  std::string model;
  std::vector<int64_t> idle;  // thousandths of each device
  int64_t sum() const { return std::accumulate(idle.begin(), idle.end(), int64_t{0}); }
};

std::vector<std::map<std::string, std::string>> read_csv(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
    if (names.empty()) {
      names = cells;
      continue;
    }
    std::map<std::string, std::string>& row = rows.emplace_back();
    for (size_t i = 0; i < std::min(cells.size(), names.size()); ++i) row[names[i]] = cells[i];
  }
  return rows;
}

std::vector<Machine> read_machines(const std::string& folder) {
  std::vector<Machine> out;
  for (auto& row : read_csv(folder + "/openb_node_list_gpu_node.csv"))
    out.push_back({.cpus = std::stoll(row["cpu_milli"]),
                   .memory = std::stoll(row["memory_mib"]),
                   .model = row["model"],
                   .idle = std::vector<int64_t>(std::stoul(row["gpu"]), 1000)});
  return out;
}

std::vector<Pod> read_pods(const std::string& folder, const std::string& list) {
  std::vector<Pod> out;
  for (auto& row : read_csv(folder + "/openb_pod_list_" + list + ".csv"))
    out.push_back({.name = row["name"],
                   .cpus = std::stoll(row["cpu_milli"]),
                   .memory = std::stoll(row["memory_mib"]),
                   .devices = std::stoll(row["num_gpu"]),
                   .milli = std::stoll(row["gpu_milli"]),
                   .models = row["gpu_spec"]});
  std::ranges::sort(out, {}, &Pod::name);
  return out;
}

// Shuffled, and brought to 1.3 times what the cluster has.
std::vector<Pod> workload(const std::vector<Pod>& list, int64_t capacity, std::mt19937_64& random) {
  std::vector<Pod> out = list;
  std::ranges::shuffle(out, random);
  int64_t demand = 0, goal = capacity * 13 / 10;
  for (const Pod& pod : out) demand += pod.total();
  while (demand < goal) {
    out.push_back(list[random() % list.size()]);
    demand += out.back().total();
  }
  while (demand > goal + 1000) {
    auto victim = out.begin() + static_cast<int64_t>(random() % out.size());
    demand -= victim->total();
    out.erase(victim);
  }
  return out;
}

bool accepts(const std::string& models, const std::string& model) {
  if (models.empty()) return true;
  return ("|" + models + "|").find("|" + model + "|") != std::string::npos;
}

bool fits(const Machine& machine, const Pod& pod) {
  if (machine.cpus < pod.cpus || machine.memory < pod.memory) return false;
  if (pod.devices == 0) return true;
  if (!accepts(pod.models, machine.model)) return false;
  return std::ranges::count_if(machine.idle, [&](int64_t idle) { return idle >= pod.milli; }) >=
         pod.devices;
}

void take(Machine& machine, const Pod& pod, const std::vector<size_t>& devices) {
  machine.cpus -= pod.cpus;
  machine.memory -= pod.memory;
  for (size_t device : devices) machine.idle[device] -= pod.milli;
}

// The devices with the least idle part that is enough.
std::vector<size_t> tightest(const Machine& machine, const Pod& pod) {
  std::vector<size_t> order;
  for (size_t i = 0; i < machine.idle.size(); ++i)
    if (pod.devices > 0 && machine.idle[i] >= pod.milli) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return machine.idle[i]; });
  order.resize(static_cast<size_t>(pod.devices));
  return order;
}

class Policy {
 public:
  virtual ~Policy() = default;
  // False: there is no room, the pod is dropped.
  virtual bool place(const Pod& pod) = 0;
};

class Random : public Policy {
 public:
  Random(std::vector<Machine> machines, std::mt19937_64& random)
      : machines_(std::move(machines)), random_(random) {}
  bool place(const Pod& pod) override {
    std::vector<Machine*> able;
    for (Machine& machine : machines_)
      if (fits(machine, pod)) able.push_back(&machine);
    if (able.empty()) return false;
    Machine& machine = *able[random_() % able.size()];
    std::vector<size_t> devices;
    for (size_t i = 0; i < machine.idle.size(); ++i)
      if (pod.devices > 0 && machine.idle[i] >= pod.milli) devices.push_back(i);
    std::ranges::shuffle(devices, random_);
    devices.resize(static_cast<size_t>(pod.devices));
    take(machine, pod, devices);
    return true;
  }

 private:
  std::vector<Machine> machines_;
  std::mt19937_64& random_;
};

// Whole percent of a machine that would be left free, half by CPU, half by accelerator.
class BestFit : public Policy {
 public:
  explicit BestFit(std::vector<Machine> machines) : machines_(std::move(machines)) {}
  bool place(const Pod& pod) override {
    constexpr double kMostCpus = 128'000, kMostMilli = 8000;
    Machine* best = nullptr;
    int best_score = -1;
    for (Machine& machine : machines_) {
      if (!fits(machine, pod)) continue;
      double left = static_cast<double>(machine.cpus - pod.cpus) / kMostCpus * 0.5 +
                    static_cast<double>(machine.sum() - pod.total()) / kMostMilli * 0.5;
      int score = static_cast<int>((1 - left) * 100);
      if (score <= best_score) continue;
      best = &machine;
      best_score = score;
    }
    if (!best) return false;
    take(*best, pod, tightest(*best, pod));
    return true;
  }

 private:
  std::vector<Machine> machines_;
};

// Fragmentation gradient descent: the target workload is that of the whole original list.
class Fgd : public Policy {
 public:
  Fgd(std::vector<Machine> machines, const std::vector<Pod>& list)
      : machines_(std::move(machines)), stamps_(machines_.size(), 1) {
    std::map<std::tuple<int64_t, int64_t, int64_t, std::string>, std::pair<Pod, double>> counts;
    for (const Pod& pod : list) {
      auto& [first, count] = counts[pod.shape()];
      first = pod;
      ++count;
    }
    for (auto& [shape, entry] : counts) target_.push_back(entry);
    std::ranges::stable_sort(target_, std::greater(), [](const auto& one) { return one.second; });
    double kept = 0;
    size_t classes = 0;
    while (kept < 0.95 * static_cast<double>(list.size())) kept += target_[classes++].second;
    target_.resize(classes);
    for (auto& [pod, weight] : target_) weight /= kept;
  }

  bool place(const Pod& pod) override {
    std::vector<Known>& known = known_[pod.shape()];
    known.resize(machines_.size());
    const Known* best = nullptr;
    for (size_t i = 0; i < machines_.size(); ++i) {
      if (machines_[i].memory < pod.memory) continue;
      if (known[i].stamp != stamps_[i]) known[i] = look(i, pod);
      if (known[i].score < 0 || (best && known[i].score <= best->score)) continue;
      best = &known[i];
    }
    if (!best) return false;
    size_t index = static_cast<size_t>(best - known.data());
    take(machines_[index], pod, best->devices);
    ++stamps_[index];
    return true;
  }

 private:
  struct Known {
    int64_t stamp = 0;
    int score = -1;  // it does not fit
    std::vector<size_t> devices;
  };

  Known look(size_t index, const Pod& pod) const {
    const Machine& machine = machines_[index];
    Known out{.stamp = stamps_[index], .devices = {}};
    Pod without_memory = pod;
    without_memory.memory = 0;
    if (!fits(machine, without_memory)) return out;
    double before = fragmentation(machine);
    auto attempt = [&](std::vector<size_t> devices) {
      Machine after = machine;
      take(after, pod, devices);
      double gain = (before - fragmentation(after)) / 1000;
      int score = static_cast<int>(100 / (1 + std::exp(-gain)));
      if (score <= out.score) return;
      out.score = score;
      out.devices = std::move(devices);
    };
    if (pod.devices != 1 || pod.milli == 1000) {
      attempt(tightest(machine, pod));
      return out;
    }
    for (size_t device = 0; device < machine.idle.size(); ++device)
      if (machine.idle[device] >= pod.milli) attempt({device});
    return out;
  }

  double fragmentation(const Machine& machine) const {
    double out = 0;
    for (const auto& [pod, weight] : target_) {
      Pod any_memory = pod;
      any_memory.memory = 0;
      double lost = static_cast<double>(machine.sum());
      if (pod.devices > 0 && fits(machine, any_memory)) {
        lost = 0;
        for (int64_t idle : machine.idle)
          if (idle < pod.milli) lost += static_cast<double>(idle);
      }
      out += weight * lost;
    }
    return out;
  }

  std::vector<Machine> machines_;
  std::vector<int64_t> stamps_;
  std::vector<std::pair<Pod, double>> target_;
  std::map<std::tuple<int64_t, int64_t, int64_t, std::string>, std::vector<Known>> known_;
};

// The planner of the product.
class Tessera : public Policy {
 public:
  explicit Tessera(const std::vector<Machine>& machines) : board_(cluster_of(machines)) {}
  bool place(const Pod& pod) override {
    sched::Demand demand{
        .devices = pod.devices, .cpus = MilliCpu{pod.cpus}, .memory = MiB{pod.memory}};
    if (pod.milli > 0 && pod.milli < 1000) demand.fraction = MilliGpu{pod.milli};
    demand.selector.model = pod.models;
    if (arrivals_.add(demand, 1))
      board_.set_mix(sched::make_mix(arrivals_.known(), board_.cluster().kinds()));
    sched::Ask ask = sched::make_ask(board_.cluster(), demand, "");
    std::optional<sched::Delta> place = board_.best(ask, sched::Placement::kFragmentation);
    if (!place) return false;
    board_.cluster().take(*place);
    board_.cluster().commit();
    return true;
  }

 private:
  // The trace's pods have no demand for the memory of devices: so much that thousandths are exact.
  static constexpr MiB kDeviceMemory{16'000};

  static sched::Cluster cluster_of(const std::vector<Machine>& machines) {
    std::vector<sched::NodeView> nodes;
    for (size_t i = 0; i < machines.size(); ++i) {
      const Machine& machine = machines[i];
      sched::NodeView node{.name = cat(1'000'000 + i),
                           .closed_reason = {},
                           .cpus = {machine.cpus},
                           .cpus_free = {machine.cpus},
                           .memory = {machine.memory},
                           .memory_free = {machine.memory},
                           .devices = {}};
      for (size_t d = 0; d < machine.idle.size(); ++d)
        node.devices.push_back({.uuid = cat(node.name, "-", d),
                                .index = static_cast<int64_t>(d),
                                .vendor = "nvidia",
                                .model = machine.model,
                                .memory = kDeviceMemory});
      nodes.push_back(std::move(node));
    }
    return sched::Cluster(nodes);
  }

  sched::Board board_;
  sched::Arrivals arrivals_;
};

double run(const std::string& name, const std::vector<Machine>& trace, const std::vector<Pod>& list,
           uint64_t seed) {
  std::mt19937_64 random(seed);
  int64_t capacity = 0;
  for (const Machine& machine : trace) capacity += machine.sum();
  std::vector<Pod> pods = workload(list, capacity, random);
  std::vector<Machine> machines = trace;
  std::ranges::shuffle(machines, random);  // the fixed order in which ties are broken
  std::unique_ptr<Policy> policy;
  if (name == "random") policy = std::make_unique<Random>(machines, random);
  if (name == "bestfit") policy = std::make_unique<BestFit>(machines);
  if (name == "fgd") policy = std::make_unique<Fgd>(machines, list);
  if (name == "tessera") policy = std::make_unique<Tessera>(machines);
  int64_t allocated = 0;
  for (const Pod& pod : pods)
    if (policy->place(pod)) allocated += pod.total();
  return 100.0 * static_cast<double>(allocated) / static_cast<double>(capacity);
}

int main_of(std::vector<std::string> args) {
  if (args.size() < 5) {
    std::fputs("usage: bench_packing FOLDER LIST SEEDS POLICY…\n", stderr);
    return 2;
  }
  std::vector<Machine> machines = read_machines(args[1]);
  std::vector<Pod> list = read_pods(args[1], args[2]);
  for (size_t i = 4; i < args.size(); ++i) {
    std::printf("%s %s", args[2].c_str(), args[i].c_str());
    for (uint64_t seed = 42; seed < 42 + std::stoul(args[3]); ++seed)
      std::printf(" %.4f", run(args[i], machines, list, seed));
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::main_of({argv, argv + argc});
}
