#pragma once
// What the server knows of its connections. For net's own files.

#include <functional>
#include <memory>
#include <string>

#include "base/file.h"
#include "net/exchange.h"
#include "net/http.h"
#include "net/loop.h"

namespace tessera::net {

using Handler = std::function<void(Request request, Peer peer, Exchange exchange)>;

// The named limits of http.h, for a test or an operator to change.
struct ServerLimits {
  size_t header_bytes = kHeaderLimit;
  size_t body_bytes = kBodyLimit;
  size_t stream_buffer_bytes = kStreamBufferLimit;
  size_t connections = kConnectionLimit;
  Millis idle = kIdleLimit;
};

// Lives on the loop's thread; all calls are made there.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  // Closes it now, whatever runs.
  virtual void cut(const std::string& reason) = 0;
  // Closes it once it has nothing to do.
  virtual void wind_down() = 0;
  // When it is to be cut for doing nothing, on the monotonic clock; INT64_MAX for never.
  virtual int64_t deadline_ns() const = 0;
};

// What a server gives to each of its connections.
struct ConnectionHost {
  std::shared_ptr<Loop> loop;
  ServerLimits limits;
  Handler handler;
  std::function<Response(const Error&)> render;
  std::function<void(Connection*)> ended;  // the last that it calls, once
};

// Serves HTTP/1.1 on a connected stream socket until either side ends it.
std::shared_ptr<Connection> serve_http(std::shared_ptr<const ConnectionHost> host, Fd socket,
                                       Peer peer);

// A WebSocket over a connected stream socket; lives on the loop's thread.
class WebSocketSession {
 public:
  virtual ~WebSocketSession() = default;
  virtual void cut(const std::string& reason) = 0;
};

// Answers the handshake of `upgrade.head`, then serves the WebSocket; `ended` comes once.
std::shared_ptr<WebSocketSession> accept_websocket(Loop& loop, Fd socket, UpgradeAnswer upgrade,
                                                   std::function<void()> ended);

// The client's side of the handshake. `opened` comes once, before any message: a response with
// status 101, another response when the server declined, or an error.
std::shared_ptr<WebSocketSession> connect_websocket(Loop& loop, Fd socket, const Request& head,
                                                    std::shared_ptr<WebSocketCore> core,
                                                    std::function<void(Result<Response>)> opened);

}  // namespace tessera::net
