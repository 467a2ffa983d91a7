#include "core/sched/pipeline.h"

#include <algorithm>

namespace tessera::sched {

namespace {

// Each node is asked these, until one is in the way.
constexpr const Filter* kFilters[] = {&kOpen, &kDevices, &kHost};

// Of the nodes that are left, the one with the least sum is taken, the first on equal terms. Counts
// of devices weigh more than any amount of CPU.
constexpr int64_t kMajor = int64_t{1} << 32;
constexpr Weighted kFragmentationScores[] = {{&kFragmentationLoss, 1}};
constexpr Weighted kPackScores[] = {{&kIdleDevices, kMajor}, {&kFreeCpus, 1}};
constexpr Weighted kSpreadScores[] = {{&kIdleDevices, -kMajor}, {&kFreeCpus, -1}};

// Each request at the head of its line gets these, until one settles it.
constexpr const Action* kActions[] = {&kAllocate, &kPreempt, &kReserve};

}  // namespace

std::span<const Filter* const> filters() {
  return kFilters;
}

std::span<const Weighted> scores_of(Placement placement) {
  switch (placement) {
    case Placement::kPack:
      return kPackScores;
    case Placement::kSpread:
      return kSpreadScores;
    case Placement::kFragmentation:
      break;
  }
  return kFragmentationScores;
}

bool tries_devices(Placement placement) {
  return std::ranges::any_of(scores_of(placement),
                             [](const Weighted& one) { return one.score->tries_devices; });
}

std::span<const Action* const> actions() {
  return kActions;
}

}  // namespace tessera::sched
