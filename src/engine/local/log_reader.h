#pragma once
// Reads the log of one attempt (log_format.h) and follows it: woken by changes of its folder, never
// by a timer.

#include <optional>
#include <string>

#include "base/file.h"
#include "engine/engine.h"

namespace tessera::local {

using engine::LogQuery;
using engine::LogSink;

// A place in a log: the first byte of a record.
struct LogPosition {
  int64_t file = 0;  // its number; 0: before the first
  int64_t offset = 0;
};
// Where what is written from now on will be.
LogPosition end_of_log(const std::string& folder);

// `over` and `stop` tell a follower that it can end: eventfds that become readable and stay so.
struct LogWatch {
  int over = -1;  // the attempt has ended: what its writer has written is all. -1: long ago
  int stop = -1;  // the engine is being closed. -1: never
  std::optional<LogPosition> from;  // where to begin, whatever the query says
};

// A sink with no text is a question: go on? (Asked now and then, so that the reader of a silent
// container can leave.)
inline constexpr Millis kLogQuestion{5'000};

Status read_log_folder(const std::string& folder, const LogQuery& query, LogWatch watch,
                       const LogSink& sink);

}  // namespace tessera::local
