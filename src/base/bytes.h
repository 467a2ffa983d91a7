#pragma once
// Amounts of bytes for people, as docker tells them.

#include <cstdint>
#include <string>

namespace tessera {

std::string byte_size(int64_t bytes);  // "999B", "16.8GB"

}  // namespace tessera
