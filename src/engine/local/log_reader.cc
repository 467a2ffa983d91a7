#include "engine/local/log_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "engine/local/folder_watch.h"
#include "engine/local/log/log_format.h"

namespace tessera::local {

namespace {

constexpr size_t kReadBytes = size_t{256} << 10;
constexpr size_t kPieceBytes = size_t{32} << 10;  // of one call of the sink
// A writer that is killed lets go of its lock just after the event that wakes us.
constexpr Millis kLastWords{50};
// How long a reader who does not follow waits for them: longer, and the disk hangs.
constexpr Millis kWriterLimit{5'000};
constexpr std::string_view kDroppedNote =
    "[tessera: older output was dropped, the log had reached its limit: truncated]\n";

// As an end: up to which byte of a file is to be read.
int64_t until(const LogPosition& end, int64_t number) {
  if (number == end.file) return end.offset;
  return number < end.file ? INT64_MAX : 0;
}

// Joins records into pieces for the sink.
class Printer {
 public:
  Printer(const LogQuery& query, const LogSink& sink)
      : sink_(sink),
        timestamps_(query.timestamps),
        since_(query.since ? log_time(*query.since) : std::string()) {}

  void skip_lines(int64_t count) { skip_ = count; }

  // False when the sink wants no more.
  bool record(std::string_view line) {
    auto parsed = parse_log_record(line);
    if (!parsed) return true;  // not ours, or damaged by a crash of the machine
    if (skip_ > 0) {
      if (!parsed->partial) --skip_;
      return true;
    }
    if (parsed->time < since_) return true;
    if (piece_stream_ != parsed->stream || piece_.size() >= kPieceBytes)
      if (!flush()) return false;
    piece_stream_ = parsed->stream;
    bool& inside = inside_line_[parsed->stream == 2];
    if (timestamps_ && !inside) piece_ += cat(parsed->time, " ");
    piece_ += parsed->text;
    if (!parsed->partial) piece_ += '\n';
    inside = parsed->partial;
    return true;
  }
  // What comes next is not what would have come: lines that were begun end here.
  bool note(std::string_view text) {
    for (int stream : {1, 2})
      if (std::exchange(inside_line_[stream == 2], false) && !(flush() && sink_(stream, "\n")))
        return false;
    return flush() && sink_(2, text);
  }
  bool flush() {
    if (piece_.empty()) return true;
    bool more = sink_(piece_stream_, piece_);
    piece_.clear();
    return more;
  }
  bool question() { return sink_(1, {}); }

 private:
  const LogSink& sink_;
  bool timestamps_;
  std::string since_;
  int64_t skip_ = 0;
  bool inside_line_[2] = {false, false};
  int piece_stream_ = 1;
  std::string piece_;
};

// Calls `each` for every whole record of a file from `offset` on, which moves along, up to the byte
// `until`.
template <class Each>
Result<bool> for_each_record(const Fd& file, int64_t& offset, int64_t until, const Each& each) {
  std::string buffer(kReadBytes, '\0');
  while (true) {
    ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read a log");
    std::string_view rest(buffer.data(), static_cast<size_t>(got));
    size_t taken = 0;
    for (size_t end; (end = rest.find('\n', taken)) != std::string_view::npos; taken = end + 1) {
      if (offset >= until) return true;
      offset += static_cast<int64_t>(end + 1 - taken);
      if (!each(rest.substr(taken, end - taken))) return false;
    }
    if (taken == 0) return true;
  }
}

// Empty when there is no such file any more.
Result<Fd> open_log_file(const std::string& folder, int64_t number) {
  std::string path = log_file_path(folder, number);
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno != ENOENT) return errno_error(cat("open ", path));
  return file;
}

// Where the last `count` lines begin: a file, and how many lines of it come before.
struct Tail {
  int64_t file = 0;
  int64_t skip = 0;
};
Result<Tail> find_tail(const std::string& folder, const std::vector<int64_t>& files,
                       const LogPosition& end, int64_t count) {
  int64_t found = 0;
  for (auto number = files.rbegin(); number != files.rend(); ++number) {
    int64_t lines = 0, offset = 0;
    TRY(Fd file, open_log_file(folder, *number));
    if (!file) break;  // and so are those before it
    TRY_STATUS(for_each_record(file, offset, until(end, *number), [&](std::string_view line) {
      auto record = parse_log_record(line);
      if (record && !record->partial) ++lines;
      return true;
    }));
    found += lines;
    if (found >= count) return Tail{*number, found - count};
  }
  return Tail{files.empty() ? 0 : files.front(), 0};
}

class Reader {
 public:
  Reader(const std::string& folder, const LogQuery& query, LogWatch watch, const LogSink& sink)
      : folder_(folder), query_(query), watch_(watch), printer_(query, sink) {}

  Status run() {
    if (!exists(folder_))
      return error(Code::kNotFound, cat("there is no log of attempt ", query_.ref.attempt,
                                        " of task ", query_.ref.task));
    if (query_.follow || is_over()) {
      TRY(changed_, FolderWatch::begin(folder_));
    }
    if (!query_.follow) TRY_STATUS(await_writer());
    TRY(bool more, begin());
    while (more) {
      // Asked before the files are read: what is written after the question is read next time.
      bool last = !query_.follow || ended();
      TRY(more, read_on());
      more = more && printer_.flush();
      if (last || !more) return Ok;
      TRY(more, sleep());
    }
    return Ok;
  }

 private:
  Result<bool> begin() {
    LogPosition end = end_of_log(folder_);
    if (!query_.follow) end_ = end;
    if (watch_.from) {
      at_ = *watch_.from;
      return true;
    }
    auto files = log_file_numbers(folder_);
    bool whole = !query_.tail && !query_.since;
    if (query_.tail) {
      TRY(Tail tail, find_tail(folder_, files, end, *query_.tail));
      at_.file = tail.file;
      printer_.skip_lines(tail.skip);
    } else if (!files.empty()) {
      at_.file = files.front();
    }
    if (whole && at_.file > 1) return printer_.note(kDroppedNote);
    return true;
  }

  // Reads all that is there.
  Result<bool> read_on() {
    while (true) {
      // The writer is done with a file before it makes the next: when there is a next one before
      // the file is read to its end, nothing more comes.
      auto files = log_file_numbers(folder_);
      auto next = std::upper_bound(files.begin(), files.end(), at_.file);
      TRY(bool more, read_file());
      if (!more) return false;
      if (next == files.end() || *next > end_.file) return true;
      bool overtaken = at_.file > 0 && (*next != at_.file + 1 || !file_);
      if (overtaken && !printer_.note(kDroppedNote)) return false;
      at_ = {*next, 0};
    }
  }

  // Reads on in the current file. It stays open: what the writer removes is still read to its end.
  Result<bool> read_file() {
    if (opened_ != at_.file) {
      TRY(file_, open_log_file(folder_, at_.file));
      opened_ = at_.file;
    }
    if (!file_) return true;
    return for_each_record(file_, at_.offset, until(end_, at_.file),
                           [&](auto line) { return printer_.record(line); });
  }

  bool is_over() {
    if (watch_.over >= 0) {
      pollfd over{watch_.over, POLLIN, 0};
      if (::poll(&over, 1, 0) != 1) return false;
      watch_.over = -1;
    }
    return over_ = true;
  }

  // True when the attempt is over and its writer is gone, so that all is on disk.
  bool ended() {
    if (!is_over()) return false;
    Fd lock(::open(log_lock_path(folder_).c_str(), O_RDONLY | O_CLOEXEC));
    return !lock || ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0;
  }

  // Who asks after the end wants to see it, though its writer may be a moment behind.
  Status await_writer() {
    int64_t limit_ns = monotonic_ns() + kWriterLimit.value * 1'000'000;
    while (is_over() && !ended() && monotonic_ns() < limit_ns) {
      TRY(bool more, sleep());
      if (!more) break;
    }
    return Ok;
  }

  // Until something was written, the attempt is over, or it is time to ask the sink.
  Result<bool> sleep() {
    pollfd fds[3] = {
        {changed_->fd(), POLLIN, 0}, {watch_.over, POLLIN, 0}, {watch_.stop, POLLIN, 0}};
    Millis timeout = over_ ? kLastWords : kLogQuestion;
    int ready = ::poll(fds, 3, static_cast<int>(timeout.value));
    if (ready < 0 && errno != EINTR) return errno_error("poll");
    if (fds[2].revents != 0)
      return error(Code::kUnavailable, "the server is being stopped; read the log again later");
    if (ready == 0) return printer_.question();
    changed_->clear();
    return !changed_->gone();
  }

  const std::string& folder_;
  const LogQuery& query_;
  LogWatch watch_;
  Printer printer_;
  LogPosition at_;
  int64_t opened_ = 0;  // the number of `file_`
  Fd file_;
  // Without follow: where the log ended when the question came, so that a container that prints
  // without end is not read without end.
  LogPosition end_{INT64_MAX, 0};
  std::unique_ptr<FolderWatch> changed_;
  bool over_ = false;
};

}  // namespace

LogPosition end_of_log(const std::string& folder) {
  auto files = log_file_numbers(folder);
  if (files.empty()) return {};
  struct stat facts{};
  if (::stat(log_file_path(folder, files.back()).c_str(), &facts) != 0) return {files.back(), 0};
  return {files.back(), facts.st_size};
}

Status read_log_folder(const std::string& folder, const LogQuery& query, LogWatch watch,
                       const LogSink& sink) {
  return Reader(folder, query, watch, sink).run();
}

}  // namespace tessera::local
