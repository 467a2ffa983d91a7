#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>

#include "base/log.h"
#include "base/text.h"
#include "net/connection.h"
#include "net/websocket.h"

namespace tessera::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

namespace {

using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
template <class T>
using Task = asio::awaitable<T, Executor>;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable_t<Executor>());

// For each handshake, the opening and the closing one. An open WebSocket may be silent for ever.
constexpr std::chrono::seconds kHandshakeLimit{10};

using Opened = std::function<void(Result<Response>)>;

class Session final : public WebSocketSession, public std::enable_shared_from_this<Session> {
 public:
  Session(Loop& loop, Fd socket, std::shared_ptr<WebSocketCore> core)
      : core_(std::move(core)),
        stream_(
            Socket(loop.context(), asio::generic::stream_protocol(AF_UNIX, 0), socket.release())) {
    stream_.set_option(
        websocket::stream_base::timeout{kHandshakeLimit, websocket::stream_base::none(), false});
    stream_.read_message_max(kMessageLimit);
    stream_.auto_fragment(false);
    stream_.binary(true);
  }

  void accept(UpgradeAnswer upgrade, std::function<void()> ended) {
    ended_callback_ = std::move(ended);
    reader_ = std::move(upgrade.out);
    spawn(shake_hands_as_server(std::move(upgrade)));
  }
  void connect(const Request& head, Opened opened) {
    reader_ = std::make_shared<OutboxReader>(core_->out);
    spawn(shake_hands_as_client(head, std::move(opened)));
  }
  void cut(const std::string& reason) override { end(reason); }

 private:
  void spawn(Task<void> task);
  void begin();
  void end(const std::string& reason);
  Task<void> shake_hands_as_server(UpgradeAnswer upgrade);
  Task<void> shake_hands_as_client(Request head, Opened opened);
  Task<void> read_messages();
  Task<void> write_messages();
  void end_writing(error_code failed);

  const std::shared_ptr<WebSocketCore> core_;
  std::shared_ptr<OutboxReader> reader_;
  websocket::stream<Socket, false> stream_;  // false: no compression
  std::function<void()> ended_callback_;
  bool ended_ = false;
  bool reading_ = false;
};

void Session::spawn(Task<void> task) {
  asio::co_spawn(stream_.get_executor(), std::move(task),
                 [self = shared_from_this()](std::exception_ptr thrown) {
                   if (!thrown) return;
                   log::error("a WebSocket failed and is closed");
                   self->end("the WebSocket failed");
                 });
}

void Session::end(const std::string& reason) {
  if (std::exchange(ended_, true)) return;
  auto self = shared_from_this();
  error_code ignored;
  stream_.next_layer().close(ignored);
  core_->out->close(reason);
  core_->detach();
  if (auto ended = std::exchange(ended_callback_, nullptr)) ended();
}

// What a person reads when a WebSocket ended; nothing after an orderly close.
std::string describe(error_code failed, const websocket::close_reason& reason) {
  if (failed != websocket::error::closed) return failed.message();
  if (reason.code == websocket::close_code::normal || reason.code == websocket::close_code::none)
    return {};
  if (reason.reason.empty()) return cat("the peer closed it with code ", reason.code);
  return {reason.reason.data(), reason.reason.size()};
}

Task<void> Session::shake_hands_as_server(UpgradeAnswer upgrade) {
  http::request<http::empty_body> request(http::verb::get, "/", 11);
  for (const auto& [name, value] : upgrade.head.headers) request.insert(name, value);
  if (!upgrade.subprotocol.empty())
    stream_.set_option(websocket::stream_base::decorator(
        [name = upgrade.subprotocol](websocket::response_type& response) {
          response.set(http::field::sec_websocket_protocol, name);
        }));
  auto [failed] = co_await stream_.async_accept(request, kTuple);
  if (failed) co_return end(cat("the WebSocket handshake failed: ", failed.message()));
  begin();
}

Task<void> Session::shake_hands_as_client(Request head, Opened opened) {
  stream_.set_option(websocket::stream_base::decorator([&head](websocket::request_type& request) {
    for (const auto& [name, value] : head.headers) request.insert(name, value);
  }));
  websocket::response_type answer;
  auto [failed] = co_await stream_.async_handshake(answer, "localhost",
                                                   format_target(head.path, head.params), kTuple);
  if (failed && failed != websocket::error::upgrade_declined) {
    end(failed.message());
    co_return opened(
        error(Code::kUnavailable, cat("the WebSocket handshake failed: ", failed.message())));
  }
  Response response{static_cast<int>(answer.result_int()), {}, std::move(answer.body())};
  for (const auto& field : answer)
    response.headers.add(std::string(field.name_string()), std::string(field.value()));
  opened(std::move(response));
  if (failed) co_return end("the server declined the WebSocket");
  begin();
}

void Session::begin() {
  if (ended_) return;
  std::weak_ptr weak = weak_from_this();
  core_->attach([weak] {
    auto self = weak.lock();
    if (!self || self->ended_ || self->reading_ || !self->core_->may_read()) return;
    self->reading_ = true;
    self->spawn(self->read_messages());
  });
  core_->out->attach(
      [weak] {
        if (auto self = weak.lock(); self && !self->ended_) self->spawn(self->write_messages());
      },
      [weak](const std::string& reason) {
        if (auto self = weak.lock()) self->end(reason);
      });
}

Task<void> Session::read_messages() {
  boost::beast::flat_buffer buffer;
  while (core_->may_read()) {
    auto [failed, bytes] = co_await stream_.async_read(buffer, kTuple);
    if (failed) co_return end(describe(failed, stream_.reason()));
    std::string message = boost::beast::buffers_to_string(buffer.data());
    buffer.consume(buffer.size());
    core_->deliver(std::move(message));
  }
  reading_ = false;
}

Task<void> Session::write_messages() {
  while (auto batch = core_->out->take()) {
    for (const std::string& message : batch->chunks) {
      auto [failed, bytes] = co_await stream_.async_write(asio::buffer(message), kTuple);
      if (failed) co_return end_writing(failed);
    }
    core_->out->delivered();
    if (!batch->last) continue;
    auto [failed] = co_await stream_.async_close(websocket::close_code::normal, kTuple);
    co_return failed ? end_writing(failed) : end("");
  }
}

void Session::end_writing(error_code failed) {
  // Aborted: the peer closes just now, and the reader completes that in order.
  if (failed == asio::error::operation_aborted && reading_) return;
  end(describe(failed, stream_.reason()));
}

}  // namespace

std::shared_ptr<WebSocketSession> accept_websocket(Loop& loop, Fd socket, UpgradeAnswer upgrade,
                                                   std::function<void()> ended) {
  auto session = std::make_shared<Session>(loop, std::move(socket), upgrade.core);
  session->accept(std::move(upgrade), std::move(ended));
  return session;
}

std::shared_ptr<WebSocketSession> connect_websocket(Loop& loop, Fd socket, const Request& head,
                                                    std::shared_ptr<WebSocketCore> core,
                                                    Opened opened) {
  auto session = std::make_shared<Session>(loop, std::move(socket), std::move(core));
  session->connect(head, std::move(opened));
  return session;
}

}  // namespace tessera::net
