#include "core/sched/order/logarithm.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tessera::sched {

namespace {

constexpr int kFraction = 16;  // bits

// The root of `square` (both with 30 bits of fraction), by bisection.
constexpr uint64_t root_q30(uint64_t square) {
  uint64_t low = 0, high = uint64_t{1} << 32;
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;
    (middle * middle <= square << 30 ? low : high) = middle;
  }
  return low;
}

// 2^(2^-i) for i = 1 … 16, with 30 bits of fraction.
constexpr std::array<uint64_t, kFraction> make_roots() {
  std::array<uint64_t, kFraction> roots{};
  uint64_t last = uint64_t{2} << 30;
  for (uint64_t& root : roots) root = last = root_q30(last);
  return roots;
}
constexpr auto kRoots = make_roots();

}  // namespace

Log log_of(int64_t value) {
  auto whole = static_cast<uint64_t>(std::max<int64_t>(value, 1));
  int bits = std::bit_width(whole) - 1;
  // The mantissa, in [1, 2) with 31 bits of fraction; each squaring yields one bit of its
  // logarithm.
  uint64_t mantissa = bits > 31 ? whole >> (bits - 31) : whole << (31 - bits);
  int64_t log = bits;
  for (int i = 0; i < kFraction; ++i) {
    mantissa = (mantissa * mantissa) >> 31;
    bool carry = mantissa >> 32;
    if (carry) mantissa >>= 1;
    log = log * 2 + (carry ? 1 : 0);
  }
  return {log};
}

int64_t exp_of(Log log) {
  if (log.q16 <= 0) return 1;
  int64_t whole = log.q16 >> kFraction;
  if (whole >= 62) return int64_t{1} << 62;
  uint64_t mantissa = uint64_t{1} << 30;
  for (int i = 0; i < kFraction; ++i)
    if (log.q16 >> (kFraction - 1 - i) & 1)
      mantissa = (mantissa * kRoots[static_cast<size_t>(i)]) >> 30;
  return static_cast<int64_t>(whole > 30 ? mantissa << (whole - 30) : mantissa >> (30 - whole));
}

}  // namespace tessera::sched
