#include "engine/local/containerd/digest.h"

#include "base/crypto.h"
#include "base/text.h"

namespace tessera::local {

namespace {
constexpr std::string_view kPrefix = "sha256:";
}

std::string sha256_digest(std::string_view bytes) {
  return cat(kPrefix, to_hex(sha256(bytes)));
}

}  // namespace tessera::local
