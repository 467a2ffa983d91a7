#include "engine/local/containerd/digest.h"

#include <openssl/sha.h>

#include <algorithm>

namespace tessera::local {

namespace {
constexpr std::string_view kPrefix = "sha256:";
constexpr std::string_view kHex = "0123456789abcdef";
}  // namespace

std::string sha256_digest(std::string_view bytes) {
  unsigned char hash[SHA256_DIGEST_LENGTH];
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash);
  std::string out(kPrefix);
  for (unsigned char byte : hash) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

}  // namespace tessera::local
