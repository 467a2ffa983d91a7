#include "cli/slurm/times.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace tessera::slurm {

namespace {

// Ten years: beyond any limit that is meant, and far from overflow.
constexpr int64_t kMostSeconds = 10LL * 366 * 86'400;

// A plain number of at most nine digits; -1 for anything else.
int64_t number(std::string_view text) {
  bool digits = !text.empty() && text.size() <= 9 &&
                text.find_first_not_of("0123456789") == std::string_view::npos;
  return digits ? to_int(text).value_or(-1) : -1;
}

std::vector<int64_t> numbers(std::string_view text, char separator) {
  std::vector<int64_t> out;
  for (const std::string& part : split(text, separator)) out.push_back(number(part));
  return out;
}

bool all_valid(const std::vector<int64_t>& parts) {
  return std::ranges::all_of(parts, [](int64_t part) { return part >= 0; });
}

Error bad_time(std::string_view text) {
  return error(Code::kInvalid, cat(quoted(text), " is not a time limit"), {},
               "write M, M:S, H:M:S, D-H, D-H:M or D-H:M:S, or UNLIMITED");
}

Error bad_begin(std::string_view text) {
  return error(Code::kInvalid, cat(quoted(text), " is not a time to begin at"), {},
               "write now+2hours, 16:00, tomorrow, 2026-01-31 or 2026-01-31T16:00:00");
}

constexpr std::pair<std::string_view, int64_t> kUnits[] = {
    {"", 1},          {"second", 1},     {"seconds", 1},    {"minute", 60},
    {"minutes", 60},  {"hour", 3600},    {"hours", 3600},   {"day", 86'400},
    {"days", 86'400}, {"week", 604'800}, {"weeks", 604'800}};

constexpr std::pair<std::string_view, int> kHours[] = {
    {"midnight", 0}, {"noon", 12}, {"fika", 15}, {"teatime", 16}};

// What follows "now+".
std::optional<int64_t> seconds_from_now(std::string_view text) {
  size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  int64_t count = number(text.substr(0, end));
  std::string unit = lower(trim(text.substr(end)));
  for (const auto& [name, seconds] : kUnits)
    if (name == unit && count >= 0 && count * seconds <= kMostSeconds) return count * seconds;
  return std::nullopt;
}

// "16:00", "16:00:30", "4:00PM" into the wall's time of day.
bool read_time_of_day(std::string_view text, WallTime& out) {
  std::string word = lower(text);
  bool pm = word.ends_with("pm"), am = word.ends_with("am");
  if (pm || am) word = trim(std::string_view(word).substr(0, word.size() - 2));
  std::vector<int64_t> parts = numbers(word, ':');
  if (parts.size() < 2 || parts.size() > 3 || !all_valid(parts)) return false;
  if (parts.size() == 2) parts.push_back(0);
  if ((pm || am) && (parts[0] < 1 || parts[0] > 12)) return false;
  if (pm || am) parts[0] = parts[0] % 12 + (pm ? 12 : 0);
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return false;
  out.hour = static_cast<int>(parts[0]);
  out.minute = static_cast<int>(parts[1]);
  out.second = static_cast<int>(parts[2]);
  return true;
}

bool set_date(int64_t year, int64_t month, int64_t day, WallTime& out) {
  if (year < 1970 || year > 2999 || month < 1 || month > 12 || day < 1 || day > 31) return false;
  out.year = static_cast<int>(year);
  out.month = static_cast<int>(month);
  out.day = static_cast<int>(day);
  return true;
}

// "2026-01-31", "01/31", "01/31/26" into the wall's date.
bool read_date(std::string_view text, const WallTime& today, WallTime& out) {
  bool slashes = text.find('/') != std::string_view::npos;
  std::vector<int64_t> parts = numbers(text, slashes ? '/' : '-');
  if (!all_valid(parts)) return false;
  if (!slashes) return parts.size() == 3 && set_date(parts[0], parts[1], parts[2], out);
  if (parts.size() == 2) return set_date(today.year, parts[0], parts[1], out);
  if (parts.size() != 3) return false;
  int64_t year = parts[2] < 100 ? 2000 + parts[2] : parts[2];
  return set_date(year, parts[0], parts[1], out);
}

}  // namespace

Result<std::optional<Millis>> parse_time(std::string_view text) {
  std::string word = lower(text);
  std::optional<Millis> no_limit;
  if (word == "unlimited" || word == "infinite") return no_limit;
  size_t dash = text.find('-');
  bool has_days = dash != std::string_view::npos;
  std::vector<int64_t> parts = numbers(has_days ? text.substr(dash + 1) : text, ':');
  if (has_days) parts.insert(parts.begin(), number(text.substr(0, dash)));
  if (!all_valid(parts) || parts.size() > (has_days ? 4u : 3u)) return bad_time(text);
  // With days it goes on with hours; without, a number is minutes, two are minutes and seconds.
  static constexpr int64_t kSeconds[] = {86'400, 3600, 60, 1};
  size_t first = has_days ? 0 : parts.size() == 3 ? 1 : 2;
  int64_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) total += parts[i] * kSeconds[first + i];
  if (total > kMostSeconds) return bad_time(text);
  if (total == 0) return no_limit;
  return std::optional(Millis{total * 1000});
}

Result<Instant> parse_begin(std::string_view text, const Clock& clock) {
  std::string word = lower(trim(text));
  if (word == "now") return clock.now;
  if (word.starts_with("now+")) {
    auto seconds = seconds_from_now(std::string_view(word).substr(4));
    if (!seconds) return bad_begin(text);
    return clock.now + Millis{*seconds * 1000};
  }
  WallTime today = clock.to_wall(clock.now);
  WallTime wanted{.year = today.year, .month = today.month, .day = today.day};
  if (word == "today") return clock.now;
  if (word == "tomorrow") {
    ++wanted.day;
    return clock.from_wall(wanted);
  }
  bool of_day = read_time_of_day(word, wanted);
  for (const auto& [name, hour] : kHours) {
    if (name != word) continue;
    wanted.hour = hour;
    of_day = true;
  }
  if (of_day) {
    Instant at = clock.from_wall(wanted);
    if (at > clock.now) return at;
    ++wanted.day;
    return clock.from_wall(wanted);
  }
  size_t t = word.find('t');
  bool has_time = t != std::string::npos;
  if (!read_date(word.substr(0, t), today, wanted)) return bad_begin(text);
  if (has_time && !read_time_of_day(word.substr(t + 1), wanted)) return bad_begin(text);
  return clock.from_wall(wanted);
}

}  // namespace tessera::slurm
