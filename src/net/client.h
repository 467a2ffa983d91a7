#pragma once
// The HTTP client of the command line and of tests: blocking calls, from any thread.

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http.h"
#include "net/http1.h"
#include "net/tls.h"

namespace tessera::net {

// Both directions of an open WebSocket; one thread may receive while others send and close.
class WebSocketClient {
 public:
  struct Impl;
  explicit WebSocketClient(std::unique_ptr<Impl> impl);
  ~WebSocketClient();  // closes in order when the server takes part within a second
  WebSocketClient(const WebSocketClient&) = delete;
  WebSocketClient& operator=(const WebSocketClient&) = delete;

  // Sends one binary message, once the server has taken enough of what was sent before; false once
  // closed.
  bool send(std::string message);
  // Waits for the next message; nullopt once closed and nothing is left.
  std::optional<std::string> receive();
  // Delivers what was sent, then closes; receive() in another thread returns soon.
  void close();
  // Why it closed; empty after an orderly close, and as long as it is open.
  std::string close_reason() const;
  const std::string& subprotocol() const;

 private:
  std::unique_ptr<Impl> impl_;
};

// What the server said to the wish for a WebSocket: with status 101 there is a socket, else the
// response says why not.
struct OpenedWebSocket {
  Response response;
  std::unique_ptr<WebSocketClient> socket;
};

// Keeps connections open between requests. Errors of every call: kUnavailable when no server
// listens or it broke off, kTimeout, kPermissionDenied (the socket is not for the caller),
// kUnauthenticated (the server is not the one that it should be); a response with a status that
// tells a failure is no error here.
class Client {
 public:
  explicit Client(std::string unix_path);
  explicit Client(TlsTarget target);

  Result<Response> request(const Request& request, Millis deadline = kRequestDeadline);
  // Gives the body of a 2xx response to `on_chunk` as it comes, in this thread; any other response
  // is returned with its body. Ends without error when the body does, when `on_chunk` returns
  // false, or on a stop from another thread after the headers came.
  Result<Response> stream(const Request& request, const OnChunk& on_chunk,
                          std::stop_token stop = {});
  // `head`: path, params and headers. The deadline is for the handshake.
  Result<OpenedWebSocket> open_websocket(const Request& head,
                                         const std::vector<std::string>& subprotocols,
                                         Millis deadline = kRequestDeadline);

 private:
  std::unique_ptr<ClientConnection> take_idle();
  void keep_idle(std::unique_ptr<ClientConnection> connection);

  const std::function<Result<Fd>()> connect_;
  std::mutex mutex_;  // guards idle_
  std::vector<std::unique_ptr<ClientConnection>> idle_;
};

}  // namespace tessera::net
