#pragma once
// runc's failures, as users should read them.

#include <string>

namespace tessera::local {

// "cannot create …: OCI runtime create failed: … : exec: "x": not found: unknown" → the part that
// concerns the user: what went wrong inside.
std::string plain_reason(std::string text);

}  // namespace tessera::local
