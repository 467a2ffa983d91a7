// libFuzzer's entry. It passes no arguments on: the environment names the target.

#include <cstdint>
#include <cstdlib>

#include "base/check.h"
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tessera::fuzz::Target& target = []() -> const tessera::fuzz::Target& {
    const char* name = std::getenv("TESSERA_FUZZ_TARGET");
    CHECK(name != nullptr);
    return tessera::fuzz::find_target(name);
  }();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
