#pragma once
// Logarithms to base 2 as integers, so that orders of jobs may use powers and quotients and still
// be the same on every machine. A Log is in units of 2^-16: adding multiplies, scaling by p / 1000
// raises to that power.

#include <compare>
#include <cstdint>

namespace tessera::sched {

struct Log {
  int64_t q16 = 0;
  constexpr auto operator<=>(const Log&) const = default;
  friend constexpr Log operator+(Log a, Log b) { return {a.q16 + b.q16}; }
  friend constexpr Log operator-(Log a, Log b) { return {a.q16 - b.q16}; }
  // To the power of `permille` / 1000.
  constexpr Log power(int64_t permille) const { return {q16 * permille / 1000}; }
};

constexpr Log kLogOf2{1 << 16};

// Of a value below 1 that of 1.
Log log_of(int64_t value);

// The power of 2; at least 1 and at most 2^62.
int64_t exp_of(Log log);

}  // namespace tessera::sched
