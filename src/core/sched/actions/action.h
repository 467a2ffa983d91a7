#pragma once
// What is done for a request whose turn it is: each action in a file of its own, all on one Pass.
// Nothing is decided for good before the pass is over.

#include <set>
#include <span>

#include "core/sched/board.h"
#include "core/sched/planner.h"

namespace tessera::sched {

// What a task gives back, and when.
struct Freed {
  Instant at;
  Delta what;
};

// A plan in the making.
struct Pass {
  Planner& planner;
  const Policy& policy;
  Instant now;
  LinePlan plan;
  std::vector<int> closed;               // by kind: the hold that keeps all of it, or kNotHeld
  std::set<int> reserved;                // kinds of which a job has a reservation
  std::set<std::string> evicted;         // tasks that give way by this plan
  std::vector<Freed> started;            // by this plan, where the end is known
  std::optional<std::string> cpu_head;   // the first job that waits for CPU or memory alone
  std::map<std::string, MilliGpu> used;  // by project, by this plan
};

// The request that is looked at, and what is known of it so far.
struct Turn {
  const Request& request;
  const Ask& ask;
  const Shape& shape;
  std::span<const std::string> tasks;  // what of it is still to be placed
  std::vector<Assignment> placed;

  // Why it waits, when it does.
  std::string reason;
  std::string for_others;      // of the same line; worded without what changes with each start
  bool hopeless = false;       // it would wait even if nothing ran
  bool keeps_devices = false;  // others hold what it waits for
  bool makes_room = false;     // others give way to it

  size_t at_once() const { return request.gang ? tasks.size() : 1; }
};

struct Action {
  std::string_view name;
  // True: the request is settled, no further action is needed.
  bool (*act)(Pass& pass, Turn& turn);
};

extern const Action kAllocate, kPreempt, kReserve;

// What is given back by tasks whose end is known, earliest first; `only_leaving`: by those that are
// on their way out.
std::vector<Freed> expected_ends(const Pass& pass, bool only_leaving);

}  // namespace tessera::sched
