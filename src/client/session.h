#pragma once
// A session with a program in a container: the channel protocol of api::ExecQuery over a WebSocket.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/requests.h"
#include "net/client.h"

namespace tessera::client {

inline constexpr std::string_view kSubprotocol = "v5.channel.k8s.io";

enum class Channel : unsigned char {
  kStdin = 0,
  kStdout = 1,
  kStderr = 2,
  kStatus = 3,
  kResize = 4,
  kClose = 255,
};

struct Frame {
  Channel channel = Channel::kStdout;
  std::string data;
};

// One thread may receive while another sends.
class Session {
 public:
  explicit Session(std::unique_ptr<net::WebSocketClient> socket) : socket_(std::move(socket)) {}

  // All three: false once the session has ended.
  bool send_input(std::string_view data);
  bool close_input();
  bool resize(int64_t columns, int64_t rows);

  // The next frame of output or the final status; nullopt at the end.
  std::optional<Frame> receive();
  // From another thread: receive() returns soon.
  void close() { socket_->close(); }
  // Why the session broke off; empty when it ended in order.
  std::string broken() const { return socket_->close_reason(); }

 private:
  bool send(Channel channel, std::string_view data);

  std::unique_ptr<net::WebSocketClient> socket_;
};

// What a frame of the status channel says.
Result<api::ExitStatus> to_exit_status(const Frame& frame);

}  // namespace tessera::client
