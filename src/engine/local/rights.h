#pragma once
// What a container's processes may do, as the OCI specification says it. Pure.

#include <set>
#include <string>
#include <vector>

#include "api/container.h"
#include "api/value.h"
#include "base/result.h"
#include "engine/local/host.h"

namespace tessera::local {

// Without "CAP_". Of ALL and of a privileged container, those that this node can give; one that is
// asked for by name and cannot be given is an error.
Result<std::set<std::string>> capabilities_of(const api::SecuritySettings& security,
                                              const HostLimits& host);

// The default ones and those asked for; one above what this node can give is an error.
Result<Value> rlimits_of(const std::vector<api::Ulimit>& wanted, const HostLimits& host);

}  // namespace tessera::local
