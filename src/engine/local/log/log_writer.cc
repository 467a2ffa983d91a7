#include "engine/local/log/log_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "engine/local/log/log_files.h"

namespace tessera::local {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReadBytes = size_t{64} << 10;  // a pipe holds no more
// What may wait for the disk: enough for a disk that is busy for a moment.
constexpr size_t kQueueBytes = size_t{4} << 20;
// How long the container waits for a full queue before its output is dropped instead: longer than a
// busy disk takes, shorter than a hung one.
constexpr std::chrono::milliseconds kStall{2000};
// How long the begin of a line waits for the rest before it is shown: a prompt looks immediate, and
// a progress bar of dots does not cost a record a dot.
constexpr std::chrono::milliseconds kPartialFlush{60};
// After SIGTERM nothing writes any more, but what the pipes hold is still read.
constexpr int kDrainReads = 64;
// How long the writer of an earlier try may take to end.
constexpr std::chrono::milliseconds kWriterEnd{1'000};
constexpr int kWriterPollMs = 5;

struct Chunk {
  int stream = 1;
  int64_t time_ns = 0;
  std::string bytes;
};

// From the thread that reads the pipes to the one that writes the disk.
class Queue {
 public:
  void push(Chunk chunk) {
    std::unique_lock lock(mutex_);
    auto room = [&] { return bytes_ < kQueueBytes; };
    if (!room() && !stalled_) stalled_ = !changed_.wait_for(lock, kStall, room);
    if (!room()) {
      dropped_ += std::max<int64_t>(1, std::count(chunk.bytes.begin(), chunk.bytes.end(), '\n'));
      return;
    }
    stalled_ = false;
    bytes_ += chunk.bytes.size();
    chunks_.push_back(std::move(chunk));
    changed_.notify_all();
  }
  void close() {
    std::lock_guard guard(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // All that waits, so that one write takes it; nothing when there was none until `deadline`, or
  // when it is closed.
  std::deque<Chunk> pop(std::optional<Clock::time_point> deadline) {
    std::unique_lock lock(mutex_);
    auto something = [&] { return !chunks_.empty() || closed_; };
    if (deadline)
      changed_.wait_until(lock, *deadline, something);
    else
      changed_.wait(lock, something);
    bytes_ = 0;
    changed_.notify_all();
    return std::exchange(chunks_, {});
  }
  bool finished() {
    std::lock_guard guard(mutex_);
    return closed_ && chunks_.empty();
  }
  int64_t take_dropped() {
    std::lock_guard guard(mutex_);
    return std::exchange(dropped_, 0);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Chunk> chunks_;
  size_t bytes_ = 0;
  int64_t dropped_ = 0;
  bool stalled_ = false;
  bool closed_ = false;
};

int64_t unix_ns() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

void write_disk(Queue& queue, LogFiles& files) {
  LogLines lines[2] = {LogLines(1), LogLines(2)};
  std::optional<Clock::time_point> flush_at;
  std::string records;
  while (true) {
    std::deque<Chunk> chunks = queue.pop(flush_at);
    records.clear();
    if (int64_t dropped = queue.take_dropped(); dropped > 0)
      files.lose(dropped, "the disk did not answer in time");
    for (const Chunk& chunk : chunks)
      lines[chunk.stream - 1].feed(chunk.bytes, log_time(chunk.time_ns), records);
    bool end = chunks.empty() && queue.finished();
    if (end || (flush_at && Clock::now() >= *flush_at))
      for (LogLines& stream : lines) stream.flush(log_time(unix_ns()), records);
    files.append(records);
    if (end) return files.tell_losses();
    if (!lines[0].waiting() && !lines[1].waiting())
      flush_at.reset();
    else if (!flush_at)
      flush_at = Clock::now() + kPartialFlush;
  }
}

// One read of what a pipe holds; false when there is nothing (now, or for ever: then `fd` becomes
// -1).
bool read_once(int& fd, int stream, Queue& queue) {
  std::string bytes(kReadBytes, '\0');
  ssize_t got = ::read(fd, bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    fd = -1;
    return false;
  }
  bytes.resize(static_cast<size_t>(got));
  queue.push({stream, unix_ns(), std::move(bytes)});
  return true;
}

// Until both streams have ended or SIGTERM has come.
void read_streams(Queue& queue, int signals) {
  int streams[2] = {3, 4};
  for (int fd : streams) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  while (streams[0] >= 0 || streams[1] >= 0) {
    pollfd polled[3] = {{streams[0], POLLIN, 0}, {streams[1], POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(polled, 3, -1) < 0 && errno != EINTR) return;
    bool last = polled[2].revents != 0;
    for (int i : {0, 1})
      for (int reads = 0; reads < (last ? kDrainReads : 1) && streams[i] >= 0; ++reads)
        if ((polled[i].revents == 0 && !last) || !read_once(streams[i], i + 1, queue)) break;
    if (last) return;
  }
}

struct Arguments {
  LogLimits limits;
  std::string folder;
};
std::optional<Arguments> parse(std::string_view argument) {
  auto parts = split(argument, ':');
  if (parts.size() < 3) return std::nullopt;
  auto bytes = to_int(parts[0]);
  auto files = to_int(parts[1]);
  if (!bytes || !files || *bytes <= 0 || *files <= 0) return std::nullopt;
  return Arguments{{*bytes, *files},
                   std::string(argument.substr(parts[0].size() + parts[1].size() + 2))};
}

// Percent-encodes what has a meaning in a URI.
std::string escape(std::string_view text) {
  static constexpr std::string_view kPlain = "/:-_.~";
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || kPlain.find(c) != std::string_view::npos)
      out += c;
    else
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

std::string argument_of(const std::string& folder, const LogLimits& limits) {
  return cat(limits.file_bytes, ":", limits.files, ":", folder);
}

// Opens the named pipes as descriptors 3 and 4 and leaves the foreground: whoever started us waits
// until our first process has ended, and for nothing that we hold.
bool go_to_background(const std::string& out_pipe, const std::string& err_pipe) {
  int streams[2] = {-1, -1};
  for (int i : {0, 1}) {
    Fd fd(::open((i == 0 ? out_pipe : err_pipe).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    streams[i] = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 5);
  }
  int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (streams[0] < 0 || streams[1] < 0 || null < 0) return false;
  pid_t child = ::fork();
  if (child != 0) ::_exit(child > 0 ? 0 : 1);
  ::setsid();
  for (int i : {0, 1, 2}) ::dup2(null, i);
  for (int i : {0, 1}) ::dup2(streams[i], 3 + i);
  ::close_range(5, ~0u, 0);
  return true;
}

// The shim says SIGTERM when the container is gone. Nothing else ends a log: a terminal's signals
// are not meant for it.
Fd take_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  for (int ignored : {SIGINT, SIGHUP, SIGPIPE}) ::signal(ignored, SIG_IGN);
  return Fd(::signalfd(-1, &ends, SFD_CLOEXEC));
}

void write_log(const Arguments& arguments, const Fd& signals) {
  Queue queue;
  LogFiles files(arguments.folder, arguments.limits);
  std::thread disk([&] { write_disk(queue, files); });
  read_streams(queue, signals.get());
  queue.close();
  disk.join();
}

}  // namespace

std::string log_writer_uri(const std::string& program, const std::string& folder,
                           const LogLimits& limits) {
  return cat("binary://", escape(program), "?log=", escape(argument_of(folder, limits)));
}

Status prepare_log_folder(const std::string& folder) {
  TRY_STATUS(make_directories(folder, 0750));
  std::string path = log_lock_path(folder);
  Fd lock(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
  if (!lock) return errno_error(cat("create ", path));
  std::vector<int64_t> old = log_file_numbers(folder);
  if (old.empty()) return Ok;
  // Its writer ends with the shim that has just ended; a writer that hangs is not waited for.
  int64_t limit = monotonic_ns() + kWriterEnd.count() * 1'000'000;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && monotonic_ns() < limit)
    ::poll(nullptr, 0, kWriterPollMs);
  for (int64_t number : old) ::unlink(log_file_path(folder, number).c_str());
  return Ok;
}

Status start_log_writer(const std::string& program, const std::string& folder,
                        const LogLimits& limits, const std::string& out_pipe,
                        const std::string& err_pipe) {
  TRY(ProgramOutput ran,
      run_program({.argv = {program, "log", argument_of(folder, limits), out_pipe, err_pipe}}));
  if (ran.exit_code == 0) return Ok;
  return error(Code::kInternal, cat("the log writer failed: ", trim(ran.err)));
}

void dismiss_log_writer(const std::string& out_pipe, const std::string& err_pipe) {
  for (const std::string& pipe : {out_pipe, err_pipe})
    Fd(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

int run_log_writer(const std::vector<std::string>& arguments) {
  auto parsed = arguments.empty() ? std::nullopt : parse(arguments[0]);
  if (!parsed) return 2;
  bool background = arguments.size() == 3;
  if (background && !go_to_background(arguments[1], arguments[2])) return 1;
  // The kernel's own mark of the end (log_format.h): held until this process is gone.
  Fd lock(::open(log_lock_path(parsed->folder).c_str(), O_WRONLY | O_CLOEXEC));
  if (lock) ::flock(lock.get(), LOCK_EX | LOCK_NB);
  Fd signals = take_signals();
  if (!background) ::close(5);
  write_log(*parsed, signals);
  // Before the close, which is what wakes the followers.
  if (lock) ::flock(lock.get(), LOCK_UN);
  return 0;
}

}  // namespace tessera::local
