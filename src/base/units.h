#pragma once
// Amounts as exact integers, each in its own type so that MiB are never added to milli-GPUs.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera {

template <class Tag>
struct Amount {
  int64_t value = 0;
  constexpr auto operator<=>(const Amount&) const = default;
  constexpr Amount& operator+=(Amount other) {
    value += other.value;
    return *this;
  }
  constexpr Amount& operator-=(Amount other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Amount operator+(Amount a, Amount b) { return {a.value + b.value}; }
  friend constexpr Amount operator-(Amount a, Amount b) { return {a.value - b.value}; }
  friend constexpr Amount operator*(Amount a, int64_t times) { return {a.value * times}; }
};

using MilliGpu = Amount<struct MilliGpuTag>;  // 1000 = one whole accelerator
using MilliCpu = Amount<struct MilliCpuTag>;  // 1000 = one core
using MiB = Amount<struct MiBTag>;            // memory
using Percent = Amount<struct PercentTag>;    // of one accelerator's compute
using Millis = Amount<struct MillisTag>;      // a duration in milliseconds

// A point in time: milliseconds since the Unix epoch, UTC. The core is given it, never asks for it.
struct Instant {
  int64_t ms = 0;
  constexpr auto operator<=>(const Instant&) const = default;
  friend constexpr Instant operator+(Instant at, Millis by) { return {at.ms + by.value}; }
  friend constexpr Millis operator-(Instant a, Instant b) { return {a.ms - b.ms}; }
};

// Kubernetes quantities: "10Gi", "512Mi", "1G" (10^9), "1500M", or plain bytes. Rounded up to a
// MiB.
Result<MiB> parse_memory(std::string_view text);
// Docker's sizes: "8g" and "512m" are powers of 1024; a bare number is bytes.
Result<MiB> parse_docker_memory(std::string_view text);
// "2", "0.25", "1.5" → thousandths, exactly; more than three decimals is an error. Also "250m".
Result<int64_t> parse_milli(std::string_view text);
// "90s", "30m", "4h", "2d", "1h30m", "500ms"; a bare number is seconds.
Result<Millis> parse_duration(std::string_view text);
// RFC 3339 in UTC: "2026-01-31T12:00:00.250Z".
Result<Instant> parse_instant(std::string_view text);

std::string format_memory(MiB amount);     // "10Gi", "1536Mi"
std::string format_milli(int64_t milli);   // "2", "0.25"
std::string format_duration(Millis span);  // "1h30m", "250ms"
std::string format_instant(Instant at);    // RFC 3339, milliseconds

}  // namespace tessera
