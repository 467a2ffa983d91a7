#pragma once
// What this machine is and can do.

#include <cstdint>
#include <string>

#include "api/objects.h"

namespace tessera::local {

// Found once, when the engine starts.
struct HostLimits {
  bool cgroup_v2 = false;
  bool swap_limit = false;           // the kernel counts swap for cgroups
  bool cpu_quota = false;            // it has CFS bandwidth control
  bool recursive_read_only = false;  // runc knows "rro" mounts
  int64_t open_files = 1024;         // own hard limits: runc may not be able to go above
  int64_t locked_bytes = 65'536;
  int oom_score_adj = 0;  // the own one, which the shim and so the container inherit
};

HostLimits find_host_limits(const std::string& runc);

// Name, CPUs, memory, system; `ready`, `message` and `engine` are for the engine to say.
api::Node describe_host(const std::string& name);

// What the container's resolv.conf says: the machine's servers without those that answer on its
// loopback only, which a container cannot reach; `servers` when given.
std::string resolver_file(const std::vector<std::string>& servers);

}  // namespace tessera::local
