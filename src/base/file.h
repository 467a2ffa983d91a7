#pragma once
// Files and descriptors, with errors that name the path.

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace tessera {

// Owns one file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

// "open /a/b: No such file or directory", with a code that fits errno.
Error errno_error(std::string_view what);

Result<std::string> read_file(const std::string& path, size_t limit_bytes = size_t{64} << 20);
// Writes a temporary neighbour, syncs it and renames it over `path`: a reader sees the old or the
// new file, never half of one.
Status write_file(const std::string& path, std::string_view content, unsigned mode = 0644);
// Appends to a file, which is made when it is not there. Not synced: for what a crash of the
// machine may take.
Status append_file(const std::string& path, std::string_view content, unsigned mode = 0644);
Status make_directories(const std::string& path, unsigned mode = 0755);
bool exists(const std::string& path);

}  // namespace tessera
