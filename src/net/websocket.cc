#include "net/websocket.h"

#include "base/text.h"

namespace tessera::net {

void WebSocketCore::set_message_callback(Message callback) {
  auto shared = std::make_shared<const Message>(std::move(callback));
  std::lock_guard lock(mutex_);
  if (detached_) return;
  on_message_.swap(shared);
  wake_reader();
}

void WebSocketCore::set_paused(bool paused) {
  std::lock_guard lock(mutex_);
  paused_ = paused;
  if (!paused) wake_reader();
}

void WebSocketCore::wake_reader() {
  if (readable_) loop_->post(readable_);
}

void WebSocketCore::attach(std::function<void()> readable) {
  std::lock_guard lock(mutex_);
  readable_ = std::move(readable);
  wake_reader();
}

bool WebSocketCore::may_read() const {
  std::lock_guard lock(mutex_);
  return on_message_ && !paused_;
}

void WebSocketCore::deliver(std::string message) {
  std::shared_ptr<const Message> callback;
  {
    std::lock_guard lock(mutex_);
    callback = on_message_;
  }
  if (callback) (*callback)(std::move(message));
}

void WebSocketCore::detach() {
  std::shared_ptr<const Message> callback;
  std::function<void()> readable;
  std::lock_guard lock(mutex_);
  detached_ = true;
  on_message_.swap(callback);
  readable_.swap(readable);
}

bool asks_for_websocket(const Request& request) {
  return same_ignoring_case(request.headers.get("Upgrade"), "websocket") &&
         contains_ignoring_case(request.headers.get("Connection"), "upgrade") &&
         request.headers.find("Sec-WebSocket-Key");
}

std::vector<std::string> offered_subprotocols(const Request& request) {
  std::vector<std::string> offered;
  for (const std::string& line : request.headers.all("Sec-WebSocket-Protocol"))
    for (const std::string& name : split(line, ','))
      if (auto trimmed = trim(name); !trimmed.empty()) offered.emplace_back(trimmed);
  return offered;
}

}  // namespace tessera::net
