#include "net/client.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>

#include "base/text.h"
#include "net/connection.h"
#include "net/unix_socket.h"
#include "net/websocket.h"

namespace tessera::net {

namespace {

// More than one thread rarely asks at once on a command line.
constexpr size_t kIdleConnectionLimit = 8;
// How long the end of a WebSocketClient waits for the server to close in order.
constexpr std::chrono::seconds kCloseGrace{1};

}  // namespace

Client::Client(std::string unix_path)
    : connect_([path = std::move(unix_path)] { return connect_unix(path); }) {}

Client::Client(TlsTarget target)
    : connect_([target = std::move(target), dialer = std::make_shared<TlsDialer>()] {
        return dialer->connect(target);
      }) {}

std::unique_ptr<ClientConnection> Client::take_idle() {
  std::lock_guard lock(mutex_);
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->reusable()) return connection;
  }
  return nullptr;
}

void Client::keep_idle(std::unique_ptr<ClientConnection> connection) {
  std::lock_guard lock(mutex_);
  if (connection->reusable() && idle_.size() < kIdleConnectionLimit)
    idle_.push_back(std::move(connection));
}

Result<Response> Client::request(const Request& request, Millis deadline) {
  if (auto connection = take_idle()) {
    auto response = connection->request(request, deadline);
    keep_idle(std::move(connection));
    // The server may close an idle connection just as it is used again. Only what changes nothing
    // may be asked twice.
    bool again = !response.ok() && response.error().code == Code::kUnavailable &&
                 (request.method == "GET" || request.method == "HEAD");
    if (!again) return response;
  }
  TRY(auto socket, connect_());
  auto connection = std::make_unique<ClientConnection>(std::move(socket));
  auto response = connection->request(request, deadline);
  keep_idle(std::move(connection));
  return response;
}

Result<Response> Client::stream(const Request& request, const OnChunk& on_chunk,
                                std::stop_token stop) {
  TRY(auto socket, connect_());
  return ClientConnection(std::move(socket)).stream(request, on_chunk, std::move(stop));
}

// `mutex` guards what the I/O thread hands over.
struct WebSocketClient::Impl {
  void take_message(std::string message);
  void note_closed(const std::string& why);
  ~Impl();

  std::shared_ptr<Loop> loop = std::make_shared<Loop>();
  std::shared_ptr<WebSocketCore> core = std::make_shared<WebSocketCore>(loop, kStreamBufferLimit);
  std::shared_ptr<WebSocketSession> session;
  std::optional<WebSocket> socket;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> messages;
  size_t waiting_bytes = 0;
  bool closed = false;
  std::string reason;
};

void WebSocketClient::Impl::take_message(std::string message) {
  std::lock_guard lock(mutex);
  waiting_bytes += message.size();
  messages.push_back(std::move(message));
  if (waiting_bytes > kStreamBufferLimit) socket->pause();
  changed.notify_all();
}

void WebSocketClient::Impl::note_closed(const std::string& why) {
  std::lock_guard lock(mutex);
  closed = true;
  reason = why;
  changed.notify_all();
}

WebSocketClient::Impl::~Impl() {
  // The session may be let go of only on its own thread.
  loop->post([this] {
    if (session) session->cut("the client closed it");
    session.reset();
  });
  loop->stop();
}

WebSocketClient::WebSocketClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->socket->on_closed(
      [impl = impl_.get()](const std::string& why) { impl->note_closed(why); });
  impl_->socket->on_message(
      [impl = impl_.get()](std::string message) { impl->take_message(std::move(message)); });
}

WebSocketClient::~WebSocketClient() {
  close();
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, kCloseGrace, [this] { return impl_->closed; });
}

bool WebSocketClient::send(std::string message) {
  return impl_->socket->send_within(std::move(message), kNoDeadline);
}

std::optional<std::string> WebSocketClient::receive() {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [this] { return impl_->closed || !impl_->messages.empty(); });
  if (impl_->messages.empty()) return std::nullopt;
  std::string message = std::move(impl_->messages.front());
  impl_->messages.pop_front();
  bool was_full = impl_->waiting_bytes > kStreamBufferLimit;
  impl_->waiting_bytes -= message.size();
  if (was_full && impl_->waiting_bytes <= kStreamBufferLimit) impl_->socket->resume();
  return message;
}

void WebSocketClient::close() {
  impl_->socket->close();
}

std::string WebSocketClient::close_reason() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->reason;
}

const std::string& WebSocketClient::subprotocol() const {
  return impl_->socket->subprotocol();
}

Result<OpenedWebSocket> Client::open_websocket(const Request& head,
                                               const std::vector<std::string>& subprotocols,
                                               Millis deadline) {
  TRY(auto fd, connect_());
  Request request{head.method, head.path, head.params, head.headers, {}};
  if (!subprotocols.empty())
    request.headers.set("Sec-WebSocket-Protocol", join(subprotocols, ", "));

  auto impl = std::make_unique<WebSocketClient::Impl>();
  auto answer = std::make_shared<std::promise<Result<Response>>>();
  auto coming = answer->get_future();
  auto socket = std::make_shared<Fd>(std::move(fd));
  impl->loop->post([impl = impl.get(), socket, request, answer] {
    impl->session = connect_websocket(
        *impl->loop, std::move(*socket), request, impl->core,
        [answer](Result<Response> opened) { answer->set_value(std::move(opened)); });
  });
  bool came =
      coming.wait_for(std::chrono::milliseconds(deadline.value)) == std::future_status::ready;
  if (!came)
    return error(Code::kTimeout,
                 cat("the server did not answer within ", format_duration(deadline)));
  TRY(auto response, coming.get());
  if (response.status != 101) return OpenedWebSocket{std::move(response), nullptr};
  impl->socket.emplace(impl->core, std::string(response.headers.get("Sec-WebSocket-Protocol")));
  return OpenedWebSocket{std::move(response), std::make_unique<WebSocketClient>(std::move(impl))};
}

}  // namespace tessera::net
