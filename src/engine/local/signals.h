#pragma once
// Names of signals.

#include <string_view>

#include "base/result.h"

namespace tessera::local {

// "SIGTERM", "TERM", "sigterm" or "15".
Result<int> parse_signal(std::string_view text);

}  // namespace tessera::local
