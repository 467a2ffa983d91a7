#include "net/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace tessera::net {

namespace {

// A server that does not take its clients for so long hangs.
constexpr timeval kConnectLimit{10, 0};

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return error(Code::kInvalid, cat("the socket path ", quoted(path, 160), " must have 1 to ",
                                     sizeof address.sun_path - 1, " bytes: choose a shorter one"));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Connects, or leaves errno.
bool connect_to(int fd, const sockaddr_un& address) {
  int rc;
  do {
    rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (rc != 0 && errno == EINTR);
  return rc == 0;
}

bool bind_to(int fd, const sockaddr_un& address) {
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Removes what is at `path` when it is a socket on which nobody listens.
Status remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat found;
  if (::lstat(path.c_str(), &found) != 0)
    return errno == ENOENT ? Status(Ok) : Status(errno_error(cat("look at ", path)));
  if (!S_ISSOCK(found.st_mode))
    return error(Code::kAlreadyExists,
                 cat(path, " exists and is not a socket: remove it or choose ", "another path"));
  Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return errno_error("make a socket");
  // EAGAIN: its queue of clients is full, so somebody listens.
  if (connect_to(probe.get(), address) || errno == EAGAIN)
    return error(Code::kAlreadyExists, cat("another server already listens at ", path,
                                           ": stop it or choose another path"));
  if (errno != ECONNREFUSED && errno != ENOENT) return errno_error(cat("connect to ", path));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return errno_error(cat("remove the stale socket ", path));
  return Ok;
}

}  // namespace

Result<UnixListener> UnixListener::open(const std::string& path, const UnixSocketMode& mode) {
  TRY(sockaddr_un address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error("make a socket");
  if (!bind_to(fd.get(), address)) {
    if (errno != EADDRINUSE) return errno_error(cat("bind ", path));
    TRY_STATUS(remove_stale(path, address));
    if (!bind_to(fd.get(), address)) return errno_error(cat("bind ", path));
  }
  UnixListener listener(std::move(fd), path);
  struct stat made;
  if (::lstat(path.c_str(), &made) != 0) return errno_error(cat("look at ", path));
  listener.device_ = made.st_dev;
  listener.inode_ = made.st_ino;
  // Nobody can connect before listen(), so there is no moment with wider permissions.
  if (mode.gid && ::chown(path.c_str(), static_cast<uid_t>(-1), *mode.gid) != 0)
    return errno_error(cat("give ", path, " to group ", *mode.gid));
  if (::chmod(path.c_str(), mode.mode) != 0) return errno_error(cat("set the mode of ", path));
  if (::listen(listener.fd(), SOMAXCONN) != 0) return errno_error(cat("listen at ", path));
  return listener;
}

UnixListener::~UnixListener() {
  struct stat found;
  if (fd_ && ::lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ &&
      found.st_ino == inode_)
    ::unlink(path_.c_str());
}

Result<std::optional<Fd>> UnixListener::accept() const {
  while (true) {
    Fd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client) return std::optional<Fd>(std::move(client));
    if (errno == EAGAIN) return std::optional<Fd>();
    if (errno != EINTR && errno != ECONNABORTED) return errno_error(cat("accept at ", path_));
  }
}

void UnixListener::shut() const {
  ::shutdown(fd_.get(), SHUT_RDWR);
}

Result<Fd> connect_unix(const std::string& path) {
  TRY(sockaddr_un address, address_of(path));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno_error("make a socket");
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kConnectLimit, sizeof kConnectLimit);
  if (!connect_to(fd.get(), address)) {
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR)
      return error(Code::kUnavailable,
                   cat("no Tessera server listens at ", path, ": start one with 'tessera server'"));
    if (errno == EACCES)
      return error(Code::kPermissionDenied, cat("you may not use the Tessera server at ", path,
                                                ": join the group that owns this socket"));
    return errno_error(cat("connect to ", path));
  }
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return errno_error("make a socket non-blocking");
  return fd;
}

namespace {

std::vector<uint32_t> peer_groups(int fd) {
  std::vector<gid_t> groups;
  socklen_t size = 0;
  // The first call only says how many there are.
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0 || errno != ERANGE)
    return {};
  groups.resize(size / sizeof(gid_t));
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) return {};
  return {groups.begin(), groups.end()};
}

}  // namespace

Peer peer_of(int fd) {
  ucred found{};
  socklen_t size = sizeof found;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) return {};
  return {found.uid, found.gid, found.pid, peer_groups(fd)};
}

Input peek_input(int fd) {
  char byte;
  ssize_t got = ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return Input::kSome;
  return got < 0 && (errno == EAGAIN || errno == EINTR) ? Input::kNone : Input::kEnded;
}

}  // namespace tessera::net
