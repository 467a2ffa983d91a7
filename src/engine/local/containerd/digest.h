#pragma once
// Digests as OCI writes them: "sha256:" and 64 lower-case hex digits.

#include <string>
#include <string_view>

namespace tessera::local {

std::string sha256_digest(std::string_view bytes);

}  // namespace tessera::local
