#pragma once
// Whether one task would fit on one node. A filter checks one thing, fast and without words; the
// words are made only for who asks. pipeline.cc lists the filters in their order.

#include <string>
#include <string_view>

#include "core/sched/ask.h"

namespace tessera::sched {

// What is in the way, the nearest to a start first: where no node will do, the one that comes
// nearest speaks for all.
enum class Obstacle {
  kNone,
  kBehind,     // free, but kept for a job ahead in the queue
  kBusy,       // others hold what it needs
  kCpu,        // devices are free, CPU or memory is not
  kClosed,     // the node is not ready or cordoned
  kNeverFits,  // the node is too small or has no such device: waiting will not help
};

// A node that is looked at, and what the filters found so far.
struct Candidate {
  const Cluster* cluster = nullptr;
  const Node* node = nullptr;
  const Ask* ask = nullptr;

  int64_t matching = 0, busy = 0, fenced = 0, held = 0, too_small = 0, foreign = 0;
  int holder = kNotHeld;  // for whom the held ones are kept
  std::vector<int> free;  // devices that would do, by their place
  MilliCpu cpus;          // what the task would hold of the host
  MiB memory;
};

struct Filter {
  std::string_view name;
  Obstacle (*check)(Candidate& candidate);
  // After a check that found this obstacle.
  std::string (*tell)(const Candidate& candidate, Obstacle obstacle);
};

extern const Filter kOpen, kDevices, kHost;

// CPU and memory of a task that holds these parts, when its user named none: the part of the node
// that goes with its devices, or one core with its part of the memory.
struct HostShare {
  MilliCpu cpus;
  MiB memory;
};
HostShare host_share(const NodeView& node, const Demand& demand, std::span<const Part> parts);
// What is free of the host for this ask.
HostShare host_free(const Node& node, const Ask& ask);

// The share of a device as what a task would hold.
inline Part part_of(const Candidate& candidate, int device) {
  auto kind = static_cast<size_t>(candidate.node->kinds[static_cast<size_t>(device)]);
  const Share& share = candidate.ask->kinds[kind].share;
  return {device, share.exclusive, share.memory, share.compute};
}

}  // namespace tessera::sched
