#pragma once
// Random bytes, digests and authenticated encryption, as OpenSSL has them.

#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera {

// From the kernel's generator: fit for keys and tokens.
std::string random_bytes(size_t count);

std::string to_hex(std::string_view bytes);
// kInvalid on an odd count or what is no hexadecimal digit.
Result<std::string> from_hex(std::string_view text);

// 32 bytes.
std::string sha256(std::string_view bytes);

inline constexpr size_t kSealKeyBytes = 32;
// AES-256-GCM with a random nonce, which stands in front. `context` is not hidden, but must be the
// same for open(): what was sealed for one place does not open in another.
std::string seal(std::string_view key, std::string_view plain, std::string_view context);
// kPermissionDenied when the key or the context is another, or a bit has changed.
Result<std::string> open_sealed(std::string_view key, std::string_view sealed,
                                std::string_view context);

std::string to_base64(std::string_view bytes);
Result<std::string> from_base64(std::string_view text);

}  // namespace tessera
