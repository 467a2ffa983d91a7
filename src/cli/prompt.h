#pragma once
// Questions to the person at the terminal.

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/console.h"

namespace tessera::cli {

enum class Echo { kOn, kOff };

// Asks on standard error and reads one line of standard input, without its end. kInvalid at the end
// of the input.
Result<std::string> ask(const Console& console, std::string_view question, Echo echo = Echo::kOn);

}  // namespace tessera::cli
