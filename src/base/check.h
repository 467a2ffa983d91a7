#pragma once
// CHECK(condition): a programmer's error stops the process, in release builds too. The crash-only
// design makes that safe: what was accepted is in the store.

namespace tessera {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace tessera

#define CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::tessera::check_failed(#condition, __FILE__, __LINE__))
