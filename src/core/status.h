#pragma once
// A job's status is what its tasks add up to; nothing else writes it.

#include "core/state.h"

namespace tessera::core {

// Recomputes job.status from its tasks. The caller touches the job.
void refresh_status(const State& state, api::Job& job);

// "exit code 3", "killed by SIGKILL (137)" …: how an attempt ended, for people.
std::string describe_exit(int64_t exit_code, bool oom_killed, MiB limit);

}  // namespace tessera::core
