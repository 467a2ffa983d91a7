#include "engine/local/log_writer.h"

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

#include "base/text.h"
#include "engine/local/log_files.h"

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
  // The next chunk; nullopt when there was none until `deadline`, or when it is closed and empty.
  std::optional<Chunk> pop(std::optional<Clock::time_point> deadline) {
    std::unique_lock lock(mutex_);
    auto something = [&] { return !chunks_.empty() || closed_; };
    if (deadline)
      changed_.wait_until(lock, *deadline, something);
    else
      changed_.wait(lock, something);
    if (chunks_.empty()) return std::nullopt;
    Chunk chunk = std::move(chunks_.front());
    chunks_.pop_front();
    bytes_ -= chunk.bytes.size();
    changed_.notify_all();
    return chunk;
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
    std::optional<Chunk> chunk = queue.pop(flush_at);
    records.clear();
    if (int64_t dropped = queue.take_dropped(); dropped > 0)
      files.lose(dropped, "the disk did not answer in time");
    if (chunk) lines[chunk->stream - 1].feed(chunk->bytes, log_time(chunk->time_ns), records);
    bool end = !chunk && queue.finished();
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

}  // namespace

std::string log_writer_uri(const std::string& program, const std::string& folder,
                           const LogLimits& limits) {
  return cat("binary://", escape(program), "?log-writer=", limits.file_bytes, ":", limits.files,
             ":", escape(folder));
}

Status prepare_log_folder(const std::string& folder) {
  TRY_STATUS(make_directories(folder, 0750));
  std::string path = log_lock_path(folder);
  Fd lock(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
  if (!lock) return errno_error(cat("create ", path));
  return Ok;
}

int run_log_writer(std::string_view argument) {
  auto arguments = parse(argument);
  if (!arguments) return 2;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  // The shim says SIGTERM when the container is gone. Nothing else ends a log: a terminal's
  // signals are not meant for it.
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  for (int ignored : {SIGINT, SIGHUP, SIGPIPE}) ::signal(ignored, SIG_IGN);
  Fd signals(::signalfd(-1, &ends, SFD_CLOEXEC));

  Fd lock(::open(log_lock_path(arguments->folder).c_str(), O_WRONLY | O_CLOEXEC));
  if (lock) ::flock(lock.get(), LOCK_EX | LOCK_NB);
  ::close(5);

  Queue queue;
  LogFiles files(arguments->folder, arguments->limits);
  std::thread disk([&] { write_disk(queue, files); });
  read_streams(queue, signals.get());
  queue.close();
  disk.join();
  // Before the close, which is what wakes the followers.
  if (lock) ::flock(lock.get(), LOCK_UN);
  return 0;
}

}  // namespace tessera::local
