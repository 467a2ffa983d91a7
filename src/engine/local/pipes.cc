#include "engine/local/pipes.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace tessera::local {

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

}  // namespace tessera::local
