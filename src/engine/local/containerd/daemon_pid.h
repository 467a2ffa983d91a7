#pragma once
// Finds a daemon again after our own restart, without ever mistaking another process for it.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace tessera::local {

// Writes pid and start time: together they name one process for as long as the machine runs.
Status write_pid_file(const std::string& path, pid_t pid);
// A pidfd of the live process that the file names; empty when there is none.
Fd process_of_pid_file(const std::string& path);
// The process with exactly this command line; 0 when there is none.
pid_t process_with_arguments(const std::vector<std::string>& argv);
// The process that listens on a Unix socket; 0 when none does.
pid_t listener_of(const std::string& socket);
// A pidfd: a handle of this very process, whoever gets its number later. Empty when there is none.
Fd open_process(pid_t pid);
void signal_process(const Fd& process, int signal);
// Whether the process of a pidfd has ended; waits up to `timeout_ms` for it.
bool has_ended(const Fd& process, int timeout_ms);

}  // namespace tessera::local
