#include "engine/local/names.h"

namespace tessera::local {

uint64_t name_hash(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}

std::string private_name(std::string_view prefix, std::string_view owner, std::string_view name) {
  std::string whole(owner);
  whole += '\n';
  whole += name;
  uint64_t hash = name_hash(whole);
  std::string out(prefix);
  for (int i = 0; i < 10; ++i, hash >>= 5) out += "0123456789abcdefghijklmnopqrstuv"[hash & 31];
  return out;
}

}  // namespace tessera::local
