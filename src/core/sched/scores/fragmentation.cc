// Fragmentation of a node's idle accelerators, after Weng et al., "Beware of Fragmentation:
// Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent" (USENIX ATC'23): for each
// class of jobs, the idle part that it could not use. Added to it is what lacks CPU: idle
// accelerators beyond those that the free CPUs would serve at the ratio at which jobs ask for both.

#include <algorithm>
#include <array>

#include "core/sched/scores/score.h"

namespace tessera::sched {

namespace {

// What is left idle of one device, in thousandths; memory and compute run out together.
int64_t idle_milli(const Device& device, const Part* taken) {
  if (device.exclusive || !device.healthy || (taken && taken->exclusive)) return 0;
  int64_t memory_held = device.memory_held.value + (taken ? taken->memory.value : 0);
  int64_t compute_held = device.compute_held.value + (taken ? taken->compute.value : 0);
  if (memory_held == 0) return std::max<int64_t>(0, 1000 - compute_held * 10);
  int64_t memory = std::max<int64_t>(1, device.memory.value);
  int64_t of_memory = (memory_held * 1000 + memory - 1) / memory;
  return std::max<int64_t>(0, 1000 - std::max(of_memory, compute_held * 10));
}

// Idle devices by how much of each is idle and of which kind.
struct Idle {
  struct Some {
    int64_t milli = 0;
    size_t kind = 0;
    int64_t devices = 0;
  };
  // Distinct ones, of which a node has few; more would only be counted apart.
  static constexpr size_t kMost = 32;
  std::array<Some, kMost> some;
  size_t size = 0;
  int64_t sum = 0;

  void add(int64_t milli, size_t kind) {
    if (milli == 0) return;
    sum += milli;
    for (size_t i = 0; i < size; ++i)
      if (some[i].milli == milli && some[i].kind == kind) {
        ++some[i].devices;
        return;
      }
    if (size < kMost) some[size++] = {milli, kind, 1};
  }
};

Idle idle_of(const Node& node, const Delta* taken) {
  Idle idle;
  for (size_t i = 0; i < node.view.devices.size(); ++i) {
    const Part* part = nullptr;
    if (taken)
      for (const Part& one : taken->parts)
        if (one.device == static_cast<int>(i)) part = &one;
    idle.add(idle_milli(node.view.devices[i], part), static_cast<size_t>(node.kinds[i]));
  }
  return idle;
}

// The idle thousandths that a job of the class cannot use: all, if it does not fit.
int64_t unusable(const Idle& idle, int64_t cpus, const Mix::Class& job) {
  if (job.devices == 0 || (job.cpus && cpus < job.cpus->value)) return idle.sum;
  int64_t enough = 0, stranded = 0;
  for (size_t i = 0; i < idle.size; ++i) {
    const Idle::Some& some = idle.some[i];
    int64_t needed = job.milli[some.kind];
    if (needed == 0 || some.milli < needed)
      stranded += some.milli * some.devices;
    else
      enough += some.devices;
  }
  return enough < job.devices ? idle.sum : stranded;
}

// Differences below this are noise: nodes that are worth as much to within it are taken in their
// fixed order, which fills one after the other.
constexpr int64_t kGrain = 20 * kPpm;

int64_t loss(const Placing& placing) {
  int64_t lost = fragmentation(placing.node, placing.mix, &placing.delta) - placing.potential;
  int64_t shifted = lost + kGrain / 2;
  return shifted >= 0 ? shifted / kGrain : -((-shifted + kGrain - 1) / kGrain);
}

}  // namespace

int64_t fragmentation(const Node& node, const Mix& mix, const Delta* taken) {
  Idle idle = idle_of(node, taken);
  if (idle.sum == 0) return 0;
  int64_t cpus = node.view.cpus_free.value - (taken ? taken->cpus.value : 0);
  int64_t out = 0;
  for (const Mix::Class& job : mix.classes) out += job.weight * unusable(idle, cpus, job);
  for (const Mix::Ratio& ratio : mix.ratios)
    out += ratio.weight * std::max<int64_t>(0, idle.sum - cpus * ratio.milli / ratio.cpus);
  return out;
}

const Score kFragmentationLoss{.name = "fragmentation", .value = loss, .tries_devices = true};

}  // namespace tessera::sched
