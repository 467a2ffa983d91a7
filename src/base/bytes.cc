#include "base/bytes.h"

#include <string_view>

#include "base/text.h"

namespace tessera {

std::string byte_size(int64_t bytes) {
  static constexpr std::string_view kUnits[] = {"kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return cat(bytes, "B");
  int64_t tenths = bytes * 10;
  for (std::string_view unit : kUnits) {
    tenths = (tenths + 500) / 1000;
    if (tenths < 10'000 || unit == "PB")
      return tenths < 1000 && tenths % 10 ? cat(tenths / 10, ".", tenths % 10, unit)
                                          : cat(tenths / 10, unit);
  }
  return {};
}

}  // namespace tessera
