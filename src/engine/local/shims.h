#pragma once
// containerd's shims: one process beside each container, which is its parent; and the runc that a
// shim calls.

#include <sys/types.h>

#include <string>
#include <vector>

namespace tessera::local {

struct Shim {
  pid_t pid = 0;
  std::string container;
};

// All shims of the containerd at `socket`, those included that are just starting or that it has
// forgotten. They are found by their command line, since this containerd keeps no number of them
// that could be trusted after a crash.
std::vector<Shim> find_shims(const std::string& socket);
// One of a container; 0 when there is none.
pid_t find_shim(const std::string& socket, const std::string& container);
// A runc that works on the container, with its notes in `root`; 0 when there is none.
pid_t find_runc(const std::string& root, const std::string& container);

}  // namespace tessera::local
