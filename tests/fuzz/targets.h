#pragma once
// What is fuzzed: one function for each kind of text that comes from outside. A target takes any
// bytes, and CHECKs what must be true of whatever becomes of them.

#include <span>
#include <string_view>

namespace tessera::fuzz {

struct Target {
  std::string_view name;  // of its folder of seeds
  void (*run)(std::string_view input);
};

std::span<const Target> targets();
// CHECKs that there is one.
const Target& find_target(std::string_view name);

void request(std::string_view input);

}  // namespace tessera::fuzz
