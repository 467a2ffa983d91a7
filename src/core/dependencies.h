#pragma once
// Jobs that wait for others: spec.dependsOn and spec.singleton.
//
// An entry of dependsOn is decided once, when the other job has come so far, and stays so: the
// other job may be deleted afterwards. Since a job can only depend on one that exists already,
// there are no circles.

#include "core/state.h"

namespace tessera::core {

// Finds the jobs that the new job depends on and fills in its status.dependencies; kNotFound or
// kInvalid names the entry.
Status resolve_dependencies(const State& state, api::Job& job);

// Notes (forgets) in state.dependents that the job waits for what its status says.
void await_dependencies(State& state, const std::string& key, const api::Job& job);
void forget_dependencies(State& state, const std::string& key, const api::Job& job);

// Decides what can be decided for those that wait for the jobs in state.awaited, and ends those
// that would wait for ever; until nothing more follows from it.
void settle_dependents(State& state, Instant now);

// What the decided entries of a new job mean for it: it may have to wait a while longer, or for
// ever, so that it ends.
void follow_dependencies(State& state, api::Job& job, Instant now);

// Why the job may not start whatever is free, in one sentence; empty when nothing holds it back.
std::string why_blocked(const State& state, const api::Job& job);

}  // namespace tessera::core
