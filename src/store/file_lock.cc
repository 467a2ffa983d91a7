#include "store/file_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/clock.h"
#include "base/text.h"

namespace tessera::store {

namespace {

// What a server that was killed was just starting has its lock until it is another program: a
// moment, and some more on a machine under load.
constexpr Millis kHandOver{10'000};
constexpr int kHandOverPollMs = 10;

std::string holder_of(const std::string& lock) {
  auto holder = read_file(lock, 64);
  return holder.ok() ? std::string(trim(*holder)) : std::string();
}

bool is_gone(const std::string& process) {
  auto pid = to_int(process);
  return pid && *pid > 0 && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH;
}

// With errno when it does not.
bool take(int fd, const std::string& lock) {
  int64_t limit = monotonic_ns() + kHandOver.value * 1'000'000;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    int why = errno;
    if (why != EWOULDBLOCK || !is_gone(holder_of(lock)) || monotonic_ns() > limit) {
      errno = why;
      return false;
    }
    ::poll(nullptr, 0, kHandOverPollMs);
  }
  return true;
}

Error held_by_another(const std::string& path, const std::string& lock) {
  std::string process = holder_of(lock);
  std::string folder = std::filesystem::path(path).parent_path().string();
  return error(Code::kConflict,
               cat("data folder ", folder.empty() ? "." : folder, " is in use by another server",
                   process.empty() ? "" : cat(" (process ", process, ")")),
               {}, "stop that server first, or give this one another data folder");
}

}  // namespace

// flock() and not SQLite's own locks alone: those belong to the process, which loses them when any
// part of it closes the file; and they do not say who holds them.
Result<Fd> lock_beside(const std::string& path) {
  std::string lock = path + ".lock";
  Fd fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return errno_error(cat("create ", lock));
  if (!take(fd.get(), lock)) {
    if (errno == EWOULDBLOCK) return held_by_another(path, lock);
    return errno_error(cat("lock ", lock));
  }
  // Only for the message above: on a full disk the lock holds without it.
  std::string process = cat(::getpid(), "\n");
  if (::ftruncate(fd.get(), 0) == 0) (void)!::pwrite(fd.get(), process.data(), process.size(), 0);
  return fd;
}

}  // namespace tessera::store
