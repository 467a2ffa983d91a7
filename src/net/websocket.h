#pragma once
// A WebSocket as its user sees it, on the server and inside the client.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "net/loop.h"
#include "net/outbox.h"

namespace tessera::net {

// What the user's handle and the session on the I/O thread share. For net's own files.
class WebSocketCore {
 public:
  using Message = std::function<void(std::string)>;

  WebSocketCore(std::shared_ptr<Loop> loop, size_t limit_bytes)
      : out(std::make_shared<Outbox>(loop, limit_bytes, Pieces::kMessages)),
        loop_(std::move(loop)) {}

  void set_message_callback(Message callback);
  void set_paused(bool paused);

  // Session's side, on the loop's thread. `readable`: may_read() may have become true.
  void attach(std::function<void()> readable);
  bool may_read() const;
  void deliver(std::string message);
  // Lets go of the callbacks and what they hold.
  void detach();

  const std::shared_ptr<Outbox> out;

 private:
  void wake_reader();

  const std::shared_ptr<Loop> loop_;
  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<const Message> on_message_;
  std::function<void()> readable_;
  bool paused_ = false;
  bool detached_ = false;
};

// All calls are safe from any thread; callbacks come on the I/O thread and must not block. Letting
// go of the last handle closes it.
class WebSocket {
 public:
  WebSocket(std::shared_ptr<WebSocketCore> core, std::string subprotocol)
      : core_(std::move(core)), subprotocol_(std::move(subprotocol)) {}
  ~WebSocket() { close(); }
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  // Queues one binary message; false once closed. A peer that lets more than kStreamBufferLimit
  // pile up is cut off.
  bool send(std::string message) { return core_->out->push(std::move(message)); }
  // Waits for room first, at most so long; not on the I/O thread.
  bool send_within(std::string message, Millis wait) {
    return core_->out->push_within(std::move(message), wait);
  }
  // Nothing is read before there is a callback, so no message is lost.
  void on_message(std::function<void(std::string message)> callback) {
    core_->set_message_callback(std::move(callback));
  }
  // Stops and starts reading, so that a slow consumer slows the peer down. At most one message
  // still arrives after pause(). A paused socket notices only on send that its peer went away.
  void pause() { core_->set_paused(true); }
  void resume() { core_->set_paused(false); }
  // Called once, with an empty reason after an orderly close by either side.
  void on_closed(std::function<void(const std::string& reason)> callback) {
    core_->out->on_closed(std::move(callback));
  }
  bool closed() const { return core_->out->closed(); }
  size_t queued_bytes() const { return core_->out->queued_bytes(); }
  // Delivers what is queued, then closes in order.
  void close() { core_->out->finish(); }
  // What was agreed on in the handshake; may be empty.
  const std::string& subprotocol() const { return subprotocol_; }

 private:
  const std::shared_ptr<WebSocketCore> core_;
  const std::string subprotocol_;
};

// Does the request ask for a WebSocket?
bool asks_for_websocket(const Request& request);
// What it offers in Sec-WebSocket-Protocol, in its order of preference.
std::vector<std::string> offered_subprotocols(const Request& request);

}  // namespace tessera::net
