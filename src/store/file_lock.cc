#include "store/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/text.h"

namespace tessera::store {

namespace {

Error held_by_another(const std::string& path, const std::string& lock) {
  auto holder = read_file(lock, 64);
  std::string process = holder.ok() ? std::string(trim(*holder)) : std::string();
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
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return held_by_another(path, lock);
    return errno_error(cat("lock ", lock));
  }
  // Only for the message above: on a full disk the lock holds without it.
  std::string process = cat(::getpid(), "\n");
  if (::ftruncate(fd.get(), 0) == 0) (void)!::pwrite(fd.get(), process.data(), process.size(), 0);
  return fd;
}

}  // namespace tessera::store
