#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"

namespace tessera {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error errno_error(std::string_view what) {
  int number = errno;
  Code code = Code::kInternal;
  if (number == ENOENT) code = Code::kNotFound;
  if (number == EACCES || number == EPERM || number == EROFS) code = Code::kPermissionDenied;
  if (number == EEXIST) code = Code::kAlreadyExists;
  if (number == ENOSPC || number == EDQUOT || number == EMFILE) code = Code::kExhausted;
  if (number == ECONNREFUSED || number == EAGAIN) code = Code::kUnavailable;
  if (number == ETIMEDOUT) code = Code::kTimeout;
  return error(code, cat(what, ": ", std::strerror(number)));
}

Result<std::string> read_file(const std::string& path, size_t limit_bytes) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(cat("open ", path));
  std::string out;
  char buffer[65536];
  while (true) {
    ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(cat("read ", path));
    if (got == 0) return out;
    out.append(buffer, static_cast<size_t>(got));
    if (out.size() > limit_bytes)
      return error(Code::kExhausted, cat(path, " is larger than ", limit_bytes, " bytes"));
  }
}

namespace {

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno_error(cat("write ", path));
    content.remove_prefix(static_cast<size_t>(put));
  }
  return Ok;
}

}  // namespace

Status write_file(const std::string& path, std::string_view content, unsigned mode) {
  std::string temporary = cat(path, ".tmp.", ::getpid());
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!fd) return errno_error(cat("create ", temporary));
  Status written = write_all(fd.get(), content, temporary);
  if (written.ok() && ::fsync(fd.get()) != 0) written = errno_error(cat("sync ", temporary));
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = errno_error(cat("rename to ", path));
  if (!written.ok()) ::unlink(temporary.c_str());
  return written;
}

Status append_file(const std::string& path, std::string_view content, unsigned mode) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode));
  if (!fd) return errno_error(cat("open ", path));
  return write_all(fd.get(), content, path);
}

Status make_directories(const std::string& path, unsigned mode) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) return error(Code::kInternal, cat("create folder ", path, ": ", failure.message()));
  if (::chmod(path.c_str(), mode) != 0) return errno_error(cat("chmod ", path));
  return Ok;
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

}  // namespace tessera
