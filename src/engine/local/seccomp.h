#pragma once
// The system calls that a container may make: an allow-list, with what docker allows by default.

#include <set>
#include <string>

#include "api/value.h"

namespace tessera::local {

// `linux.seccomp` of the OCI runtime specification. Every other call fails with EPERM. What the
// container's capabilities (without "CAP_") would be worthless without is allowed with them.
Value seccomp_profile(const std::set<std::string>& capabilities = {});

}  // namespace tessera::local
