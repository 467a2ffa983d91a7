#pragma once
// What it is worth to place a task in one way or another, as integers: less is better. A placement
// policy is a list of scores and weights (pipeline.cc).

#include <string_view>

#include "core/sched/cluster.h"
#include "core/sched/mix.h"

namespace tessera::sched {

struct Placing {
  const Node& node;    // as it is before
  const Delta& delta;  // what the task would take
  const Mix& mix;
  int64_t potential = 0;  // of the node before, see below
};

struct Score {
  std::string_view name;
  int64_t (*value)(const Placing& placing);
  // Of the same node, partly used devices are tried one by one; else the fullest is taken
  // (or the emptiest, when spreading).
  bool tries_devices = false;
};
struct Weighted {
  const Score* score;
  int64_t weight;
};

extern const Score kFragmentationLoss, kIdleDevices, kFreeCpus;

// How much of the node's idle accelerators the jobs of the mix are expected not to be able to use,
// in millionths of a thousandth of a device; after the delta when one is given.
int64_t fragmentation(const Node& node, const Mix& mix, const Delta* taken = nullptr);

}  // namespace tessera::sched
