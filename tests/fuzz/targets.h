#pragma once
// What is fuzzed: one function for each kind of text that comes from outside. A target takes any
// bytes, and CHECKs what must be true of whatever becomes of them.

#include <span>
#include <string_view>

#include "base/result.h"

namespace tessera::fuzz {

struct Target {
  std::string_view name;  // of its folder of seeds
  void (*run)(std::string_view input);
};

std::span<const Target> targets();
// CHECKs that there is one.
const Target& find_target(std::string_view name);

// In files of their own.
void request(std::string_view input);
void image(std::string_view input);
void host(std::string_view input);

// An answer to a person: a sentence on one line, of a length that can be read.
void expect_sentence(const Error& failure);

template <class T>
bool taken(const Result<T>& result) {
  if (!result.ok()) expect_sentence(result.error());
  return result.ok();
}

}  // namespace tessera::fuzz
