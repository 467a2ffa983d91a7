#pragma once
// Slurm's ways to write times.

#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace tessera::slurm {

// --time: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S. nullopt: no limit (0, UNLIMITED, INFINITE).
Result<std::optional<Millis>> parse_time(std::string_view text);

// A date and time of day as on the caller's wall.
struct WallTime {
  int year = 0, month = 1, day = 1;  // as people count them
  int hour = 0, minute = 0, second = 0;
  bool operator==(const WallTime&) const = default;
};

// What the time is, and what the wall's clock has to do with it: the parser knows no time zones.
struct Clock {
  Instant now;
  std::function<WallTime(Instant)> to_wall;
  std::function<Instant(const WallTime&)> from_wall;  // days beyond the month go on to the next
};

// --begin: now[+N[seconds|minutes|hours|days|weeks]], HH:MM[:SS] [AM|PM], midnight, noon, fika,
// teatime, today, tomorrow, YYYY-MM-DD[THH:MM[:SS]], MM/DD[/YY]. A time of day that is over means
// tomorrow's.
Result<Instant> parse_begin(std::string_view text, const Clock& clock);

}  // namespace tessera::slurm
