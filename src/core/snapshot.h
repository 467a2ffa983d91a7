#pragma once
// From the state to what the planner sees, and from its plan back to the state.

#include "core/state.h"

namespace tessera::core {

sched::Snapshot make_snapshot(const State& state, Instant now);

// Tells the planner of nodes whose facts have changed. At the end of each step.
void refresh_planner(State& state);
// A job that has come counts for what the planner expects to come.
void note_arrival(State& state, const api::Job& job);

// Gives the tasks of each decision their node and devices, and asks those that give way to stop.
// The plan must be of this very state.
void apply_plan(State& state, const sched::LinePlan& plan, Instant now);

}  // namespace tessera::core
