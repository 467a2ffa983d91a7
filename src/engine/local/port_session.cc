// A connection to a port inside a container, from inside of its network.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "engine/local/pipes.h"
#include "engine/local/sessions.h"

namespace tessera::local {

namespace {

constexpr size_t kPiece = size_t{32} << 10;

// On a thread that ends afterwards: a socket stays in the namespace that it was made in.
Result<Fd> connect_inside(uint32_t pid, int port) {
  Fd space(::open(cat("/proc/", pid, "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
  if (!space) return errno_error("open the container's network");
  if (::setns(space.get(), CLONE_NEWNET) != 0) return errno_error("enter the container's network");
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("make a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ECONNREFUSED)
      return error(Code::kUnavailable, cat("nothing listens on port ", port, " in the container"));
    return errno_error(cat("connect to port ", port));
  }
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return socket;
}

class PortSession final : public engine::Session {
 public:
  PortSession(Fd socket, engine::SessionEvents events)
      : events_(std::move(events)),
        closed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        socket_(std::move(socket)) {
    reader_ = std::thread([this] { read(); });
  }
  ~PortSession() override {
    PortSession::close();
    if (reader_.get_id() == std::this_thread::get_id())
      reader_.detach();
    else
      reader_.join();
  }

  Status send_stdin(std::string_view bytes) override {
    std::lock_guard lock(mutex_);
    return write_to_pipe(socket_, bytes, closed_);
  }
  Status close_stdin() override {
    std::lock_guard lock(mutex_);
    ::shutdown(socket_.get(), SHUT_WR);
    return Ok;
  }
  Status resize(int, int) override { return Ok; }  // there is no terminal
  void close() override { ::eventfd_write(closed_.get(), 1); }

 private:
  void read() {
    std::string piece(kPiece, '\0');
    int code = 0;
    while (true) {
      pollfd fds[2] = {{socket_.get(), POLLIN, 0}, {closed_.get(), POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0) continue;  // interrupted
      if (fds[1].revents != 0) break;
      ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got < 0) code = 1;
      if (got <= 0) break;
      if (events_.on_output) events_.on_output(1, {piece.data(), static_cast<size_t>(got)});
    }
    close();
    if (events_.on_exit) events_.on_exit(code);
  }

  const engine::SessionEvents events_;
  const Fd closed_;  // readable once it is over
  const Fd socket_;
  std::mutex mutex_;
  std::thread reader_;
};

}  // namespace

Result<std::unique_ptr<engine::Session>> start_port_session(Machine& machine, const TaskPtr& task,
                                                            int port,
                                                            engine::SessionEvents events) {
  TRY(TaskInfo info, machine.client.task(task->container));
  Result<Fd> socket = Fd();
  std::thread([&] { socket = connect_inside(info.pid, port); }).join();
  if (!socket.ok()) return std::move(socket).error();
  return std::unique_ptr<engine::Session>(
      std::make_unique<PortSession>(*std::move(socket), std::move(events)));
}

}  // namespace tessera::local
