#pragma once
// Whether and how one task fits on one node: the filters, each with the reason that it gives.

#include "core/sched/plan.h"

namespace tessera::sched {

// Devices that wait for a job further ahead in the queue, by UUID, with that job's key.
using Holds = std::map<std::string, std::string>;

enum class Obstacle {
  kNone,       // it fits
  kClosed,     // the node is not ready or cordoned
  kNeverFits,  // the node is too small or has no such device: waiting will not help
  kBusy,       // others hold what it needs
  kBehind,     // free, but kept for a job ahead in the queue
  kCpu,        // devices are free, CPU or memory is not
};

struct Fit {
  Obstacle obstacle = Obstacle::kNone;
  std::string reason;     // when it does not fit
  std::string behind;     // kBehind: the job ahead
  Assignment assignment;  // when it fits; `task` is left empty
};

Fit fit(const NodeView& node, const Request& request, const Policy& policy, const Holds& holds);

// Whether the device is one that the demand could use at all.
bool matches(const Device& device, const Demand& demand);

// Memory and compute that the demand takes of this device.
api::Allocation share_of(const Device& device, const Demand& demand);

}  // namespace tessera::sched
