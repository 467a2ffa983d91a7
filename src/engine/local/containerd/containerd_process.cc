#include "engine/local/containerd/containerd_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/local/containerd/containerd.h"
#include "engine/local/containerd/daemon_pid.h"

extern char** environ;

namespace tessera::local {

namespace {

// A start reads the whole metadata database, after a crash on a cold disk.
constexpr Millis kStartLimit{60'000};
// A daemon that is alive but silent for this long is replaced.
constexpr Millis kSilenceLimit{30'000};
constexpr Millis kAnswerLimit{1'000};
// It ends its sessions within a second; the rest is for a busy disk.
constexpr int kStopLimitMs = 15'000;
constexpr int kPollMs = 50;
constexpr int kRetryLimitMs = 30'000;
// At a start, a longer log becomes the ".1" beside it.
constexpr off_t kLogLimitBytes = 16 << 20;
constexpr size_t kLogTailBytes = 600;

// Variables that tell a service about its own supervisor: containerd would answer in our name.
constexpr std::string_view kNotInherited[] = {"NOTIFY_SOCKET=",  "LISTEN_FDS=",    "LISTEN_PID=",
                                              "LISTEN_FDNAMES=", "WATCHDOG_USEC=", "WATCHDOG_PID="};

std::vector<char*> environment() {
  std::vector<char*> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view view(*entry);
    auto starts = [&](std::string_view name) { return view.starts_with(name); };
    if (!std::any_of(std::begin(kNotInherited), std::end(kNotInherited), starts))
      out.push_back(*entry);
  }
  out.push_back(nullptr);
  return out;
}

Result<Fd> open_log(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && info.st_size > kLogLimitBytes)
    ::rename(path.c_str(), cat(path, ".1").c_str());
  Fd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  if (!log) return errno_error(cat("open ", path));
  return log;
}

// In a session of its own, with none of our descriptors, signals or working folder.
Result<pid_t> spawn_detached(std::vector<std::string> argv, const Fd& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, log.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, log.get(), 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t set;
  sigemptyset(&set);
  posix_spawnattr_setsigmask(&attributes, &set);
  sigfillset(&set);
  posix_spawnattr_setsigdefault(&attributes, &set);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (std::string& word : argv) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  int failure = ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(),
                               environment().data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    return error(failure == ENOENT ? Code::kNotFound : Code::kInternal,
                 cat("cannot start ", argv[0], ": ", std::strerror(failure)), {},
                 failure == ENOENT ? "install the package containerd" : "");
  return pid;
}

}  // namespace

class ContainerdProcess::Impl {
 public:
  explicit Impl(ContainerdOptions options)
      : options_(std::move(options)), wake_(::eventfd(0, EFD_CLOEXEC)) {}

  ~Impl() { stop_watching(); }

  std::string socket() const { return options_.run_folder + "/containerd.sock"; }
  std::string root() const { return options_.data_folder + "/root"; }

  Status start() {
    std::lock_guard lock(mutex_);
    TRY_STATUS(ensure());
    if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
    return Ok;
  }

  Status stop() {
    stop_watching();
    std::lock_guard lock(mutex_);
    TRY(Fd held, lock_folder());
    Fd process = find();
    if (process) TRY_STATUS(end(process, SIGTERM));
    ::unlink(pid_file().c_str());
    ::unlink(socket().c_str());
    return Ok;
  }

 private:
  std::string pid_file() const { return options_.data_folder + "/containerd.pid"; }
  std::string log_file() const { return options_.data_folder + "/containerd.log"; }
  std::string config_file() const { return options_.data_folder + "/containerd.toml"; }
  std::string ttrpc() const { return options_.run_folder + "/containerd.ttrpc"; }

  bool answers(Millis within) const {
    return exists(socket()) && Containerd::connect(socket()).version(within).ok();
  }

  // Held while looking and starting, so that two servers never start two daemons.
  Result<Fd> lock_folder() const {
    TRY_STATUS(make_directories(options_.data_folder, 0711));
    TRY_STATUS(make_directories(options_.run_folder, 0711));
    std::string path = options_.data_folder + "/lock";
    Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock || ::flock(lock.get(), LOCK_EX) != 0) return errno_error(cat("lock ", path));
    return lock;
  }

  // The running daemon. We may have died between starting and noting it: then it is noted now.
  Fd find() const {
    if (Fd process = process_of_pid_file(pid_file())) return process;
    pid_t pid = listener_of(socket());
    if (pid <= 0) pid = process_with_arguments({options_.program, "--config", config_file()});
    if (pid <= 0) return Fd();
    Fd process = open_process(pid);
    // A pid file that cannot be written only makes the next find() look as hard as this one.
    if (process) (void)write_pid_file(pid_file(), pid);
    return process;
  }

  Status ensure() {
    TRY_STATUS(check_paths());
    TRY(Fd held, lock_folder());
    reap();
    if (Fd process = find()) {
      Status answered = await(process, kSilenceLimit);
      if (answered.ok()) return Ok;
      log::warn(cat(answered.error().message, ": it is replaced"));
      TRY_STATUS(end(process, SIGKILL));
    }
    return launch();
  }

  // Until the daemon answers, has ended or was silent for `limit`.
  Status await(const Fd& process, Millis limit) {
    int64_t end_ns = monotonic_ns() + limit.value * 1'000'000;
    while (!answers(kAnswerLimit)) {
      if (has_ended(process, kPollMs))
        return error(Code::kUnavailable, cat("containerd ended right after its start: ", log_tail(),
                                             " (see ", log_file(), ")"));
      if (monotonic_ns() > end_ns)
        return error(Code::kTimeout, cat("containerd at ", socket(), " did not answer within ",
                                         format_duration(limit), " (see ", log_file(), ")"));
    }
    return Ok;
  }

  Status check_paths() const {
    for (const std::string& path : {socket(), ttrpc()})
      if (path.size() >= sizeof(sockaddr_un::sun_path))
        return error(Code::kInvalid,
                     cat("the path of the socket ", path, " is longer than the ",
                         sizeof(sockaddr_un::sun_path) - 1, " bytes the kernel allows"),
                     {}, "choose a shorter run folder");
    return Ok;
  }

  Status launch() {
    TRY_STATUS(write_file(config_file(), config()));
    TRY(Fd log, open_log(log_file()));
    TRY(child_, spawn_detached({options_.program, "--config", config_file()}, log));
    Fd process = open_process(child_);
    Status noted = write_pid_file(pid_file(), child_);
    if (!noted.ok()) {  // nobody would find it again
      TRY_STATUS(end(process, SIGKILL));
      return noted;
    }
    Status answered = await(process, kStartLimit);
    reap();
    return answered;
  }

  std::string config() const {
    std::string out = "# Written by tessera at each start of its containerd: edits are lost.\n";
    out += cat("version = 2\nroot = \"", root(), "\"\nstate = \"", options_.run_folder,
               "/state\"\noom_score = 0\n");
    // No CRI: Kubernetes has no business here. The snapshotters need what few machines have.
    out +=
        "disabled_plugins = [\"io.containerd.grpc.v1.cri\", "
        "\"io.containerd.snapshotter.v1.aufs\", \"io.containerd.snapshotter.v1.btrfs\", "
        "\"io.containerd.snapshotter.v1.devmapper\", \"io.containerd.snapshotter.v1.zfs\"]\n";
    out += cat("[grpc]\naddress = \"", socket(), "\"\n[ttrpc]\naddress = \"", ttrpc(), "\"\n");
    out += cat("[plugins.\"io.containerd.internal.v1.opt\"]\npath = \"", options_.data_folder,
               "/opt\"\n");
    return out;
  }

  std::string log_tail() const {
    Result<std::string> text = read_file(log_file());
    if (!text.ok()) return text.error().message;
    std::string_view tail = trim(*text);
    if (tail.size() > kLogTailBytes) tail.remove_prefix(tail.size() - kLogTailBytes);
    size_t line = tail.rfind('\n');
    return std::string(line == std::string_view::npos ? tail : tail.substr(line + 1));
  }

  Status end(const Fd& process, int signal) {
    signal_process(process, signal);
    if (!has_ended(process, kStopLimitMs)) {
      signal_process(process, SIGKILL);
      if (!has_ended(process, kStopLimitMs))
        return error(Code::kTimeout, cat("containerd at ", socket(), " cannot be killed"), {},
                     "it waits for the disk: look at the kernel log");
    }
    reap();
    return Ok;
  }

  // When it is our child, its remains are ours to clear.
  void reap() {
    if (child_ > 0 && ::waitpid(child_, nullptr, WNOHANG) == child_) child_ = -1;
  }

  // Until stop_watching(): waits for the daemon's end, then starts the next.
  void watch() {
    int retry_ms = 0;
    while (true) {
      Fd process;
      {
        std::lock_guard lock(mutex_);
        process = find();
      }
      // No daemon: a failed start is tried again after a growing pause.
      pollfd fds[2] = {{wake_.get(), POLLIN, 0}, {process.get(), POLLIN, 0}};
      ::poll(fds, process ? 2 : 1, process ? -1 : retry_ms);
      if (fds[0].revents != 0) return;
      std::lock_guard lock(mutex_);
      log::warn(cat("containerd at ", socket(), " has ended: it is started again"));
      Status started = ensure();
      if (!started.ok()) log::error(started.error().text());
      retry_ms = started.ok() ? 0 : std::clamp(retry_ms * 2, 1'000, kRetryLimitMs);
    }
  }

  void stop_watching() {
    if (!watcher_.joinable()) return;
    uint64_t one = 1;
    ssize_t written = ::write(wake_.get(), &one, sizeof one);
    CHECK(written == sizeof one);
    watcher_.join();
    uint64_t drained = 0;
    ssize_t got = ::read(wake_.get(), &drained, sizeof drained);
    CHECK(got == sizeof drained);
  }

  const ContainerdOptions options_;
  const Fd wake_;
  std::mutex mutex_;  // around everything that looks for, starts or ends the daemon
  pid_t child_ = -1;  // under mutex_
  std::thread watcher_;
};

ContainerdProcess::ContainerdProcess(ContainerdOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

ContainerdProcess::~ContainerdProcess() = default;

std::string ContainerdProcess::socket() const {
  return impl_->socket();
}

std::string ContainerdProcess::root() const {
  return impl_->root();
}

Status ContainerdProcess::start() {
  return impl_->start();
}

Status ContainerdProcess::stop() {
  return impl_->stop();
}

}  // namespace tessera::local
