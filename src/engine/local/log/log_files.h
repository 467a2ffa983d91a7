#pragma once
// The disk side of a log: lines out of chunks, records into numbered files. Used by one thread.

#include <string>
#include <string_view>

#include "base/file.h"
#include "engine/local/log/log_format.h"

namespace tessera::local {

// Cuts one stream's bytes into records.
class LogLines {
 public:
  explicit LogLines(int stream) : stream_(stream) {}
  // Appends a record for each line that is whole, and for what exceeds kLogLineLimit.
  void feed(std::string_view bytes, std::string_view time, std::string& records);
  // Appends what waits for its newline as a partial record.
  void flush(std::string_view time, std::string& records);
  bool waiting() const { return !rest_.empty(); }

 private:
  int stream_;
  std::string rest_;  // the begin of a line, not longer than kLogLineLimit
};

// Appends to the files of one folder. Never fails: what the disk does not take is lost, and the
// next record that it takes says how much.
class LogFiles {
 public:
  LogFiles(std::string folder, LogLimits limits);
  // `records`: whole ones.
  void append(std::string_view records);
  void lose(int64_t records, std::string_view why);
  // Tries to write down a loss that no record after it has told of.
  void tell_losses();

 private:
  bool ready();
  bool open_number(int64_t number);
  int64_t put(std::string_view records);

  std::string folder_;
  LogLimits limits_;
  Fd file_;
  int64_t number_ = 0;
  int64_t size_ = 0;
  int64_t lost_ = 0;
  std::string lost_why_;
};

}  // namespace tessera::local
