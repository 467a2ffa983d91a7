#pragma once
// The system calls that a container may make: an allow-list, with what docker allows by default.

#include "api/value.h"

namespace tessera::local {

// `linux.seccomp` of the OCI runtime specification. Every other call fails with EPERM.
Value seccomp_profile();

}  // namespace tessera::local
