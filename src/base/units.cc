#include "base/units.h"

#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <limits>

#include "base/text.h"

namespace tessera {

namespace {

constexpr int64_t kMiBInBytes = int64_t{1} << 20;

// A decimal number split at its first letter: "1.5Gi" → {1500 thousandths, "Gi"}.
struct Measured {
  int64_t milli;
  std::string_view unit;
};

std::optional<Measured> measure(std::string_view text) {
  size_t i = 0;
  int64_t whole = 0;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 20000;
  size_t digits = 0;
  for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i, ++digits) {
    if (whole > kMost) return std::nullopt;
    whole = whole * 10 + (text[i] - '0');
  }
  if (whole > kMost) return std::nullopt;
  int64_t milli = whole * 1000;
  if (i < text.size() && text[i] == '.') {
    int64_t scale = 100;
    for (++i; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i, ++digits) {
      int digit = text[i] - '0';
      if (scale == 0 && digit != 0) return std::nullopt;  // finer than a thousandth: not exact
      milli += digit * scale;
      scale /= 10;
    }
  }
  if (digits == 0) return std::nullopt;
  return Measured{milli, text.substr(i)};
}

struct Scale {
  std::string_view name;
  int64_t bytes;
};

Result<MiB> memory_in(std::string_view text, const Scale* units, size_t count,
                      std::string_view examples) {
  std::string_view trimmed = trim(text);
  auto measured = measure(trimmed);
  for (size_t i = 0; measured && i < count; ++i) {
    if (units[i].name != measured->unit) continue;
    auto bytes = static_cast<__int128>(measured->milli) * units[i].bytes;
    __int128 per_mib = static_cast<__int128>(kMiBInBytes) * 1000;
    auto mib = (bytes + per_mib - 1) / per_mib;
    if (mib > (int64_t{1} << 40)) break;
    return MiB{static_cast<int64_t>(mib)};
  }
  return error(Code::kInvalid, cat(quoted(text), " is not a size"), {}, std::string(examples));
}

}  // namespace

Result<MiB> parse_memory(std::string_view text) {
  static constexpr Scale kUnits[] = {
      {"", 1},           {"k", 1000},          {"M", 1000000},
      {"G", 1000000000}, {"T", 1000000000000}, {"Ki", 1 << 10},
      {"Mi", 1 << 20},   {"Gi", 1 << 30},      {"Ti", int64_t{1} << 40}};
  return memory_in(text, kUnits, std::size(kUnits), "write it like 10Gi, 512Mi or 8G");
}

Result<MiB> parse_docker_memory(std::string_view text) {
  static constexpr Scale kUnits[] = {{"", 1},
                                     {"b", 1},
                                     {"k", 1 << 10},
                                     {"kb", 1 << 10},
                                     {"m", 1 << 20},
                                     {"mb", 1 << 20},
                                     {"g", 1 << 30},
                                     {"gb", 1 << 30},
                                     {"t", int64_t{1} << 40},
                                     {"tb", int64_t{1} << 40},
                                     {"ki", 1 << 10},
                                     {"mi", 1 << 20},
                                     {"gi", 1 << 30},
                                     {"kib", 1 << 10},
                                     {"mib", 1 << 20},
                                     {"gib", 1 << 30}};
  return memory_in(lower(text), kUnits, std::size(kUnits), "write it like 8g, 512m or 10Gi");
}

Result<int64_t> parse_milli(std::string_view text) {
  auto measured = measure(trim(text));
  if (measured && measured->unit.empty()) return measured->milli;
  if (measured && measured->unit == "m" && measured->milli % 1000 == 0)
    return measured->milli / 1000;
  return error(Code::kInvalid, cat(quoted(text), " is not a number with at most three decimals"),
               {}, "write it like 2 or 0.25");
}

Result<Millis> parse_duration(std::string_view text) {
  static constexpr Scale kUnits[] = {{"", 1000},    {"ms", 1},        {"s", 1000},
                                     {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  auto bad = [&] {
    return error(Code::kInvalid, cat(quoted(text), " is not a duration"), {},
                 "write it like 90s, 30m, 4h or 1h30m");
  };
  std::string_view rest = trim(text);
  if (rest.empty()) return bad();
  int64_t total = 0;
  while (!rest.empty()) {
    auto measured = measure(rest);
    if (!measured) return bad();
    size_t unit_length = 0;
    while (unit_length < measured->unit.size() &&
           std::isalpha(static_cast<unsigned char>(measured->unit[unit_length])))
      ++unit_length;
    std::string_view unit = measured->unit.substr(0, unit_length);
    const Scale* row = nullptr;
    for (const Scale& candidate : kUnits)
      if (candidate.name == unit) row = &candidate;
    constexpr int64_t kMost = int64_t{1000} * 366 * 86'400'000;  // a thousand years
    if (!row || measured->milli / 1000 > kMost / row->bytes) return bad();
    total += static_cast<int64_t>(static_cast<__int128>(measured->milli) * row->bytes / 1000);
    if (total > kMost) return bad();
    rest = measured->unit.substr(unit_length);
    if (!rest.empty() && unit.empty()) return bad();
  }
  return Millis{total};
}

Result<Instant> parse_instant(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00";
  bool shaped = text.size() > kShape.size();
  for (size_t i = 0; shaped && i < kShape.size(); ++i)
    shaped = kShape[i] == '0' ? std::isdigit(static_cast<unsigned char>(text[i])) != 0
                              : text[i] == kShape[i];
  auto number = [&](size_t at, size_t digits) {
    int out = 0;
    for (size_t i = at; shaped && i < at + digits; ++i) out = 10 * out + (text[i] - '0');
    return out;
  };
  int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  int64_t ms = 0;
  std::string_view rest = shaped ? text.substr(kShape.size()) : text;
  if (shaped && rest.starts_with('.')) {
    int64_t scale = 100;
    size_t i = 1;
    for (; i < rest.size() && std::isdigit(static_cast<unsigned char>(rest[i])); ++i, scale /= 10)
      ms += (rest[i] - '0') * scale;
    rest = rest.substr(i);
  }
  std::chrono::year_month_day date{std::chrono::year{year},
                                   std::chrono::month{static_cast<unsigned>(month)},
                                   std::chrono::day{static_cast<unsigned>(day)}};
  if (!shaped || rest != "Z" || !date.ok() || hour > 23 || minute > 59 || second > 60)
    return error(Code::kInvalid, cat(quoted(text), " is not a time"), {},
                 "write it like 2026-01-31T12:00:00Z");
  int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  return Instant{((days * 24 + hour) * 60 + minute) * 60'000 + second * 1000 + ms};
}

std::string format_memory(MiB amount) {
  if (amount.value != 0 && amount.value % 1024 == 0) return cat(amount.value / 1024, "Gi");
  return cat(amount.value, "Mi");
}

std::string format_milli(int64_t milli) {
  std::string out = cat(milli / 1000);
  int64_t rest = milli % 1000;
  if (rest == 0) return out;
  std::string digits = cat(rest + 1000).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return cat(out, ".", digits);
}

std::string format_duration(Millis span) {
  static constexpr Scale kUnits[] = {
      {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};
  if (span.value == 0) return "0s";
  std::string out;
  int64_t rest = span.value;
  for (const Scale& unit : kUnits) {
    if (rest >= unit.bytes) out += cat(rest / unit.bytes, unit.name);
    rest %= unit.bytes;
  }
  return out;
}

std::string format_instant(Instant at) {
  using namespace std::chrono;
  int64_t day_ms = 86'400'000;
  int64_t days_since = at.ms >= 0 ? at.ms / day_ms : (at.ms - day_ms + 1) / day_ms;
  int64_t rest = at.ms - days_since * day_ms;
  year_month_day date{sys_days{days{days_since}}};
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(rest / 3'600'000),
                static_cast<int>(rest / 60'000 % 60), static_cast<int>(rest / 1000 % 60),
                static_cast<int>(rest % 1000));
  return buffer.data();
}

}  // namespace tessera
