#include "engine/local/signals.h"

#include <csignal>
#include <cstring>
#include <string>

#include "base/text.h"

namespace tessera::local {

Result<int> parse_signal(std::string_view text) {
  std::string name = lower(text);
  if (name.starts_with("sig")) name = name.substr(3);
  if (auto number = to_int(name); number && *number > 0 && *number <= SIGRTMAX)
    return static_cast<int>(*number);
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known && lower(known) == name) return number;
  }
  return error(Code::kInvalid, cat(quoted(text), " is no signal"), {},
               "write it like SIGTERM or 15");
}

}  // namespace tessera::local
