#pragma once
// From a placed task to the order that an engine can carry out.

#include "core/state.h"
#include "engine/engine.h"

namespace tessera::server {

// Everything that the engine needs for the task's current attempt. The error is for the job's
// owner.
Result<engine::Launch> make_launch(const core::State& state, const api::Task& task);

}  // namespace tessera::server
