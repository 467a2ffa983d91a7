#pragma once
// containerd's shims: one process beside each container, which is its parent.

#include <sys/types.h>

#include <string>

namespace tessera::local {

// The shim of a container of the containerd at `socket`; 0 when there is none. It is found by its
// command line, since this containerd keeps no number of it that could be trusted after a crash.
pid_t find_shim(const std::string& socket, const std::string& container);

}  // namespace tessera::local
