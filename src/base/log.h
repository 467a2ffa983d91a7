#pragma once
// The server's own log: one line a record on standard error. Levels: debug, info, warn, error.

#include <string_view>

namespace tessera::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };

void set_level(Level level);
void debug(std::string_view line);
void info(std::string_view line);
void warn(std::string_view line);
void error(std::string_view line);

}  // namespace tessera::log
