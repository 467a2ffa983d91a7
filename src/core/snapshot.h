#pragma once
// From the state to what the planner sees, and from its plan back to the state.

#include "core/sched/plan.h"
#include "core/state.h"

namespace tessera::core {

sched::Snapshot make_snapshot(const State& state, Instant now);

// Gives the tasks of each decision their node and devices. The plan must be of this very state.
void apply_plan(State& state, const sched::Plan& plan, Instant now);

}  // namespace tessera::core
