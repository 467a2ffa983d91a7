#pragma once
// Reads the log of one attempt (log_format.h) and follows it: woken by inotify, never by a timer.

#include <string>

#include "base/file.h"
#include "engine/engine.h"

namespace tessera::local {

using engine::LogQuery;
using engine::LogSink;

// What tells a follower that it can end. Both are eventfds that become readable and stay so.
struct LogWatch {
  int over = -1;  // the attempt has ended: what its writer has written is all. -1: long ago
  int stop = -1;  // the engine is being closed. -1: never
};

// A sink with no text is a question: go on? (Asked now and then, so that the reader of a silent
// container can leave.)
inline constexpr Millis kLogQuestion{5'000};

Status read_log_folder(const std::string& folder, const LogQuery& query, LogWatch watch,
                       const LogSink& sink);

}  // namespace tessera::local
