#pragma once
// One command at a time: the only way in which the state changes besides apply_plan().

#include "core/command.h"
#include "core/state.h"

namespace tessera::core {

// Named limits, each checked here and nowhere else.
inline constexpr int64_t kActiveJobLimit =
    200'000;  // queued and running: what the planner may have to look at
inline constexpr int64_t kProjectLimit = 10'000;
inline constexpr int64_t kSecretLimit = 100'000;
inline constexpr int64_t kUserLimit = 10'000;  // a large university; each costs some 500 bytes
// Of one user: one for each machine and each pipeline of theirs.
inline constexpr int64_t kTokenLimit = 50;

// Applies the command. On error nothing has changed. The error is the sentence that the caller
// reads.
Status step(State& state, const Command& command, Instant now);

}  // namespace tessera::core
