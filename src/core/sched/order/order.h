#pragma once
// Orders of jobs for a short mean completion time: which of them should hold the accelerators now.

#include <cstdint>
#include <span>
#include <vector>

#include "core/sched/order/logarithm.h"

namespace tessera::sched {

struct Contender {
  int64_t devices = 0;       // that it needs, all at once
  int64_t remaining_ms = 0;  // of its own running time, where that is known
  bool running = false;
};

// Positions in a list of contenders, first to be served first.
using JobOrder = std::vector<size_t>;

// By key, least first; of equal ones those that run first, then in the order of the list.
JobOrder ranked(std::span<const Contender> contenders, std::span<const Log> keys);

// The first of the ranking that fit into `capacity` devices together; who does not fit is passed
// by.
JobOrder admitted(std::span<const Contender> contenders, const JobOrder& ranking, int64_t capacity);

// Times known: remaining time × devices^b. b = 0 is shortest remaining time first, b = 1 shortest
// remaining service first. Neither is best always, so b is chosen anew each time: the queue is run
// empty in thought with each b, as if nothing more arrived, and that of the least sum of completion
// times is taken.
JobOrder by_remaining(std::span<const Contender> contenders, int64_t capacity);

// The sum of the completion times (ms from now) if the contenders were served in this order until
// none is left.
int64_t completion_sum(std::span<const Contender> contenders, const JobOrder& ranking,
                       int64_t capacity);

// Times unknown: the Gittins index (Gittins 1979; core/sched/durations/hazard.h) by device. A job
// that runs counts `stay` times, so that two of about the same index do not take turns.
JobOrder by_index(std::span<const Contender> contenders, std::span<const Log> indices, Log stay);

}  // namespace tessera::sched
