#pragma once
// What this machine is and can do.

#include <cstdint>
#include <map>
#include <string>

#include "api/objects.h"
#include "engine/local/cgroup_driver.h"

namespace tessera::local {

// Found once, when the engine starts.
struct HostLimits {
  CgroupFacts cgroups;
  bool recursive_read_only = false;            // runc knows "rro" mounts
  std::map<std::string, int64_t> hard_limits;  // own ones, by name: "nofile"
  bool may_raise_limits = false;               // else runc cannot go above them
  uint64_t capabilities = 0;                   // that runc can give, one bit each
  int oom_score_adj = 0;  // the own one, which the shim and so the container inherit

  // Largest number that fits when there is none.
  int64_t hard_limit(const std::string& name) const;
};

HostLimits find_host_limits(const std::string& runc);

// Name, CPUs, memory, system; `ready`, `message` and `engine` are for the engine to say.
api::Node describe_host(const std::string& name);

// What the container's resolv.conf says: the machine's servers without those that answer on its
// loopback only, which a container cannot reach; `servers` when given. `own`: what a job wants
// instead.
std::string resolver_file(const std::vector<std::string>& servers,
                          const api::NetworkSettings& own = {});

}  // namespace tessera::local
