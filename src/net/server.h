#pragma once
// The HTTP server: one I/O thread, any number of listening sockets.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/connection.h"
#include "net/exchange.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tls.h"
#include "net/unix_socket.h"

namespace tessera::net {

// How long stop() lets requests and streams go on: a handler's answer takes milliseconds, and a
// person who stops a server should not wait longer for a follower of a log.
inline constexpr Millis kStopDeadline{5'000};

// "text/plain" with the error's text and the status of its code.
Response plain_error(const Error& error);

struct ServerOptions {
  ServerLimits limits;
  // How the server's own refusals (400, 413, 431, 500, 503) are written.
  std::function<Response(const Error&)> render = plain_error;
};

// Owns the I/O thread. All calls are safe from any thread but that one.
class Server {
 public:
  // The handler is called on the I/O thread and must not block: it answers through the exchange, at
  // once or later.
  explicit Server(Handler handler, ServerOptions options = {});
  ~Server();  // stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Status listen(const std::string& unix_path, const UnixSocketMode& mode = {});
  // Over TCP, encrypted on a thread of its own; the port, which the kernel chooses for 0.
  Result<uint16_t> listen_tls(const TcpAddress& address, std::shared_ptr<TlsServerContext> context);
  // Accepts nothing more, lets what runs finish until the deadline, cuts the rest and ends the I/O
  // thread. Handles that are still held stay safe to use and do nothing.
  void stop(Millis deadline = kStopDeadline);

  // The I/O thread, for timers and tasks of others.
  const std::shared_ptr<Loop>& loop() const { return loop_; }
  void post(Loop::Task task) { loop_->post(std::move(task)); }
  void after(Millis wait, Loop::Task task) { loop_->after(wait, std::move(task)); }

 private:
  struct Core;
  std::shared_ptr<Loop> loop_;
  std::shared_ptr<Core> core_;
  std::vector<std::unique_ptr<TlsListener>> tls_;
};

}  // namespace tessera::net
