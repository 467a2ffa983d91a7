#pragma once
// Names for what this engine makes on the machine: short, valid everywhere, its own.

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::local {

// FNV-1a: the same in every build, for ever, since names on the machine depend on it.
uint64_t name_hash(std::string_view text);

// `prefix` and ten letters that stand for owner and name: 13 characters with a prefix of three, and
// so within the limit of network interfaces (15).
std::string private_name(std::string_view prefix, std::string_view owner, std::string_view name);

}  // namespace tessera::local
