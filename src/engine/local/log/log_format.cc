#include "engine/local/log/log_format.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "base/text.h"

namespace tessera::local {

namespace {
constexpr std::string_view kSuffix = ".log";
constexpr size_t kTimeWidth = sizeof("2026-01-31T12:00:00.000000000Z") - 1;
constexpr std::string_view kTags[2][2] = {{" stdout F ", " stdout P "},
                                          {" stderr F ", " stderr P "}};
constexpr size_t kTagWidth = kTags[0][0].size();
}  // namespace

void append_log_record(std::string& out, const LogRecord& record) {
  out += record.time;
  out += kTags[record.stream == 2][record.partial];
  out += record.text;
  out += '\n';
}

std::optional<LogRecord> parse_log_record(std::string_view line) {
  if (line.size() < kTimeWidth + kTagWidth) return std::nullopt;
  std::string_view tag = line.substr(kTimeWidth, kTagWidth);
  for (int stream : {1, 2})
    for (bool partial : {false, true})
      if (tag == kTags[stream == 2][partial])
        return LogRecord{line.substr(0, kTimeWidth), stream, partial,
                         line.substr(kTimeWidth + kTagWidth)};
  return std::nullopt;
}

std::string log_time(int64_t unix_ns) {
  auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(unix_ns % 1'000'000'000));
  return text;
}

std::string log_time(Instant at) {
  return log_time(at.ms * 1'000'000);
}

std::string log_file_path(const std::string& folder, int64_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "/%06lld", static_cast<long long>(number));
  return cat(folder, name, kSuffix);
}

std::string log_lock_path(const std::string& folder) {
  return cat(folder, "/writer");
}

std::vector<int64_t> log_file_numbers(const std::string& folder) {
  std::vector<int64_t> out;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    std::string name = entry.path().filename();
    if (!name.ends_with(kSuffix)) continue;
    auto number = to_int(std::string_view(name).substr(0, name.size() - kSuffix.size()));
    if (number) out.push_back(*number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tessera::local
