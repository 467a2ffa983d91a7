#include "engine/local/pipes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace tessera::local {

namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;  // a pipe holds no more

}  // namespace

Status make_fifo(const std::string& path) {
  if (::mkfifo(path.c_str(), 0600) != 0) return errno_error(cat("create ", path));
  return Ok;
}

Status write_to_pipe(const Fd& pipe, std::string_view bytes, const Fd& until) {
  while (!bytes.empty()) {
    pollfd fds[2] = {{pipe.get(), POLLOUT, 0}, {until.get(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) return errno_error("poll");
    if (fds[1].revents != 0 || (fds[0].revents & (POLLERR | POLLNVAL)) != 0)
      return error(Code::kConflict, "the process takes no input any more");
    ssize_t put = ::write(pipe.get(), bytes.data(), bytes.size());
    if (put > 0) bytes.remove_prefix(static_cast<size_t>(put));
    if (put < 0 && errno == EPIPE)
      return error(Code::kConflict, "the process takes no input any more");
    if (put < 0 && errno != EAGAIN && errno != EINTR) return errno_error("write to the process");
  }
  return Ok;
}

InputStream::InputStream() : abandoned_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Status InputStream::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("make a pipe");
  output_ = Fd(ends[0]);
  input_ = Fd(ends[1]);
  ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
  return Ok;
}

Status InputStream::send(std::string_view bytes) {
  std::lock_guard lock(mutex_);
  if (!input_) return error(Code::kConflict, "no input is taken");
  return write_to_pipe(input_, bytes, abandoned_);
}

void InputStream::close() {
  std::lock_guard lock(mutex_);
  input_.reset();
}

void InputStream::abandon() {
  ::eventfd_write(abandoned_.get(), 1);
  close();
}

Result<std::string> InputStream::read() {
  std::string piece(kPieceBytes, '\0');
  ssize_t got = -1;
  do got = ::read(output_.get(), piece.data(), piece.size());
  while (got < 0 && errno == EINTR);
  if (got < 0) return errno_error("read the stream");
  piece.resize(static_cast<size_t>(got));
  return piece;
}

}  // namespace tessera::local
