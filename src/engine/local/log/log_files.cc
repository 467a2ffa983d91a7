#include "engine/local/log/log_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/text.h"

namespace tessera::local {

namespace {

int64_t count_records(std::string_view records) {
  return std::count(records.begin(), records.end(), '\n');
}

// As many as fit into `room` bytes, and one at least.
std::string_view first_records(std::string_view records, int64_t room) {
  if (static_cast<int64_t>(records.size()) <= room) return records;
  size_t end = records.rfind('\n', static_cast<size_t>(std::max<int64_t>(room, 1) - 1));
  if (end == std::string_view::npos) end = records.find('\n');
  return records.substr(0, end + 1);
}

}  // namespace

void LogLines::feed(std::string_view bytes, std::string_view time, std::string& records) {
  while (!bytes.empty()) {
    size_t newline = bytes.find('\n');
    bool whole = newline != std::string_view::npos && rest_.size() + newline <= kLogLineLimit;
    if (whole && rest_.empty()) {  // the usual case, without a copy
      append_log_record(records, {time, stream_, false, bytes.substr(0, newline)});
      bytes.remove_prefix(newline + 1);
      continue;
    }
    size_t take = whole ? newline : std::min(bytes.size(), kLogLineLimit - rest_.size());
    rest_ += bytes.substr(0, take);
    bytes.remove_prefix(take + (whole ? 1 : 0));
    if (!whole && rest_.size() < kLogLineLimit) return;
    append_log_record(records, {time, stream_, !whole, rest_});
    rest_.clear();
  }
}

void LogLines::flush(std::string_view time, std::string& records) {
  if (rest_.empty()) return;
  append_log_record(records, {time, stream_, true, rest_});
  rest_.clear();
}

LogFiles::LogFiles(std::string folder, LogLimits limits)
    : folder_(std::move(folder)), limits_(limits) {
  auto numbers = log_file_numbers(folder_);
  number_ = numbers.empty() ? 1 : numbers.back();
}

bool LogFiles::open_number(int64_t number) {
  std::string path = log_file_path(folder_, number);
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  if (!fd) return false;
  struct stat facts{};
  ::fstat(fd.get(), &facts);
  file_ = std::move(fd);
  number_ = number;
  size_ = facts.st_size;
  return true;
}

// Makes `file_` one that can take records: the current one, or the next when that is full or was
// removed.
bool LogFiles::ready() {
  struct stat facts{};
  bool removed = file_ && ::fstat(file_.get(), &facts) == 0 && facts.st_nlink == 0;
  if (file_ && !removed && size_ < limits_.file_bytes) return true;
  if (!file_) return open_number(number_) && (size_ < limits_.file_bytes || ready());
  // Older ones go first, so that a disk which is full of this log has room for the next file.
  auto numbers = log_file_numbers(folder_);
  for (int64_t old : numbers)
    if (old <= number_ + 1 - limits_.files) ::unlink(log_file_path(folder_, old).c_str());
  return open_number(number_ + 1);
}

// Returns how many of the records it could not write. A file never ends in half a record: readers
// read whole lines only, so what is cut off here was not read yet.
int64_t LogFiles::put(std::string_view records) {
  size_t done = 0;
  while (done < records.size()) {
    ssize_t put = ::write(file_.get(), records.data() + done, records.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    done += static_cast<size_t>(put);
  }
  size_t keep = done == records.size() ? done : records.substr(0, done).rfind('\n') + 1;
  size_ += static_cast<int64_t>(keep);
  if (keep < done && ::ftruncate(file_.get(), size_) != 0) file_.reset();
  return count_records(records.substr(keep));
}

void LogFiles::append(std::string_view records) {
  tell_losses();
  while (!records.empty()) {
    if (lost_ > 0 || !ready()) return lose(count_records(records), std::strerror(errno));
    std::string_view part = first_records(records, limits_.file_bytes - size_);
    records.remove_prefix(part.size());
    if (int64_t missing = put(part); missing > 0) lose(missing, std::strerror(errno));
  }
}

void LogFiles::lose(int64_t records, std::string_view why) {
  lost_ += records;
  lost_why_ = why;
}

void LogFiles::tell_losses() {
  if (lost_ == 0 || !ready()) return;
  int64_t now_ns =
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  std::string note;
  append_log_record(
      note, {log_time(now_ns), 2, false,
             cat("[tessera: ", plural(lost_, "line"), " of output could not be written and ",
                 lost_ == 1 ? "is" : "are", " lost: ", lost_why_, "]")});
  if (put(note) == 0) lost_ = 0;
}

}  // namespace tessera::local
