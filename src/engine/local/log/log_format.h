#pragma once
// How the log of one attempt lies on disk. A folder holds numbered files ("000001.log", …) of
// records in the format of the Kubernetes CRI, so that the collectors people have can read them:
//
//   2026-01-31T12:00:00.000000250Z stdout F a whole line
//   2026-01-31T12:00:00.000000250Z stderr P part of a line; the next record of stderr goes on
//
// The highest number is being written, the lowest go first when the log reaches its limit. The file
// "writer" is locked (flock) by the writer for as long as it lives: the kernel's own mark of the
// end.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tessera::local {

// A day of a chatty training run is some 10 MiB; 128 MiB a task keep a week of it, and a hundred
// tasks that print without end still fit on any disk.
struct LogLimits {
  int64_t file_bytes = int64_t{16} << 20;
  int64_t files = 8;
};
// Longer lines are split, as kubelet and docker split theirs.
inline constexpr size_t kLogLineLimit = size_t{16} << 10;

struct LogRecord {
  std::string_view time;  // fixed width, so that earlier times sort before later ones as text
  int stream = 1;
  bool partial = false;
  std::string_view text;
};

void append_log_record(std::string& out, const LogRecord& record);
// A line without its newline; nullopt when it is no record.
std::optional<LogRecord> parse_log_record(std::string_view line);

// RFC 3339 with nine digits of fraction.
std::string log_time(int64_t unix_ns);
std::string log_time(Instant at);

std::string log_file_path(const std::string& folder, int64_t number);
std::string log_lock_path(const std::string& folder);
// The numbers of a folder's files, ascending; empty when there is no such folder.
std::vector<int64_t> log_file_numbers(const std::string& folder);

}  // namespace tessera::local
