#include "net/http1.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "net/connection.h"
#include "net/head.h"
#include "net/unix_socket.h"

namespace tessera::net {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::flat_buffer;
using boost::system::error_code;

namespace {

using Executor = asio::io_context::executor_type;
using Stream = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
template <class T>
using Task = asio::awaitable<T, Executor>;
// The outcome of an operation as a tuple that starts with its error code: nothing is thrown.
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable_t<Executor>());

// After a refusal: how long the rest of the request is read, so that the client sees the answer
// rather than a reset.
constexpr int64_t kLingerMs = 2'000;
// Read at once: Beast reads what a buffer has room for, and 512 bytes when it has none.
constexpr size_t kReadBytes = 16 << 10;

Stream stream_over(asio::io_context& context, Fd socket) {
  return Stream(context, asio::generic::stream_protocol(AF_UNIX, 0), socket.release());
}

Headers take_headers(const http::fields& fields) {
  Headers headers;
  for (const auto& field : fields)
    headers.add(std::string(field.name_string()), std::string(field.value()));
  return headers;
}

// ---- The server's side ----

class HttpConnection final : public Connection,
                             public AnswerSink,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<const ConnectionHost> host, Fd socket, Peer peer)
      : host_(std::move(host)),
        peer_(peer),
        stream_(stream_over(host_->loop->context(), std::move(socket))),
        buffer_(host_->limits.header_bytes + kReadBytes) {
    buffer_.reserve(kReadBytes);
  }

  void start() override { spawn(run(std::nullopt)); }
  void cut(const std::string& reason) override;
  void wind_down() override;
  int64_t deadline_ns() const override { return deadline_ns_; }
  void answer(Answer answer) override;

 private:
  using Parser = http::request_parser<http::string_body>;
  // What a step of the conversation leaves to do. kElsewhere: an answer, a chunk or a WebSocket
  // session takes it from here.
  enum class Next { kRequest, kElsewhere, kClose };

  void spawn(Task<void> task);
  void end();
  void arm(int64_t ms) { deadline_ns_ = monotonic_ns() + ms * 1'000'000; }
  void disarm() { deadline_ns_ = INT64_MAX; }

  Task<void> run(std::optional<Answer> answer);
  Task<Next> serve_request();
  Task<Next> refuse_input(error_code failed);
  Task<Next> refuse(Error why, int status);
  void call_handler(Request request);
  Task<Next> write_answer(Answer answer);
  Task<Next> write_response(Response response);
  Task<Next> begin_stream(StreamAnswer answer);
  Next begin_websocket(UpgradeAnswer answer);
  Task<void> write_chunks();
  Task<void> watch_client();
  Task<void> watch_while_pending();
  Task<void> discard_input();

  const std::shared_ptr<const ConnectionHost> host_;
  const Peer peer_;
  Stream stream_;
  flat_buffer buffer_;
  int64_t deadline_ns_ = INT64_MAX;
  bool ended_ = false;
  bool winding_down_ = false;
  bool idle_ = false;        // waits for a request of which nothing has come
  bool in_handler_ = false;  // on the stack below
  std::optional<Answer> early_answer_;

  // Of the request under way.
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool chunked_ = true;  // HTTP/1.0 knows no chunks

  std::shared_ptr<OutboxReader> out_;
  std::shared_ptr<WebSocketSession> websocket_;
};

void HttpConnection::spawn(Task<void> task) {
  asio::co_spawn(stream_.get_executor(), std::move(task),
                 [self = shared_from_this()](std::exception_ptr thrown) {
                   if (!thrown) return;
                   log::error("a connection failed and is closed");
                   self->end();
                 });
}

void HttpConnection::end() {
  if (std::exchange(ended_, true)) return;
  error_code ignored;
  stream_.close(ignored);
  out_.reset();
  websocket_.reset();
  host_->ended(this);
}

void HttpConnection::cut(const std::string& reason) {
  auto self = shared_from_this();
  if (out_) (*out_)->close(reason);
  if (websocket_) websocket_->cut(reason);
  end();
}

void HttpConnection::wind_down() {
  winding_down_ = true;
  if (idle_) cut("the server is stopping");
}

void HttpConnection::answer(Answer answer) {
  if (ended_) return;
  if (in_handler_)
    early_answer_ = std::move(answer);
  else
    spawn(run(std::move(answer)));
}

// A client that leaves before the answer comes is let go of at once: an answer may take hours. One
// that sends its next request already is not watched further.
Task<void> HttpConnection::watch_while_pending() {
  auto [failed] = co_await stream_.async_wait(Stream::wait_read, kTuple);
  if (!failed && !ended_ && peek_input(stream_.native_handle()) == Input::kEnded) cut(kClientGone);
}

Task<void> HttpConnection::run(std::optional<Answer> answer) {
  Next next = Next::kRequest;
  if (answer) {
    error_code ignored;
    stream_.cancel(ignored);  // the watch
    next = co_await write_answer(std::move(*answer));
  }
  while (next == Next::kRequest) {
    next = co_await serve_request();
    if (early_answer_) {
      Answer early = std::move(*early_answer_);
      early_answer_.reset();
      next = co_await write_answer(std::move(early));
    } else if (next == Next::kElsewhere) {
      spawn(watch_while_pending());
    }
  }
  if (next == Next::kClose) end();
}

Task<HttpConnection::Next> HttpConnection::serve_request() {
  Parser parser;
  parser.header_limit(static_cast<uint32_t>(host_->limits.header_bytes));
  parser.body_limit(host_->limits.body_bytes);
  idle_ = buffer_.size() == 0;
  arm(host_->limits.idle.value);
  auto [head_failed, head_bytes] =
      co_await http::async_read_header(stream_, buffer_, parser, kTuple);
  idle_ = false;
  if (head_failed) co_return co_await refuse_input(head_failed);

  arm(host_->limits.idle.value);
  if (!parser.is_done()) {
    if (same_ignoring_case(parser.get()[http::field::expect], "100-continue")) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kContinue), kTuple);
    }
    auto [body_failed, body_bytes] = co_await http::async_read(stream_, buffer_, parser, kTuple);
    if (body_failed) co_return co_await refuse_input(body_failed);
  }
  disarm();

  auto message = parser.release();
  keep_alive_ = message.keep_alive();
  head_only_ = message.method() == http::verb::head;
  chunked_ = message.version() >= 11;
  auto target = parse_target(message.target());
  if (!target.ok()) co_return co_await refuse(std::move(target).error(), 400);
  call_handler(Request{std::string(message.method_string()), std::move(target->path),
                       std::move(target->params), take_headers(message),
                       std::move(message.body())});
  co_return Next::kElsewhere;
}

void HttpConnection::call_handler(Request request) {
  Exchange exchange(
      {host_->loop, weak_from_this(), host_->limits.stream_buffer_bytes, host_->render}, request);
  std::string label = exchange.label();
  in_handler_ = true;
  try {
    host_->handler(std::move(request), peer_, std::move(exchange));
  } catch (const std::exception& thrown) {
    // Its exchange went with the stack, which answers 500 unless a copy lives on.
    log::error(cat(label, ": the handler failed: ", thrown.what()));
  }
  in_handler_ = false;
}

Task<HttpConnection::Next> HttpConnection::refuse_input(error_code failed) {
  const auto& limits = host_->limits;
  if (failed == http::error::body_limit)
    co_return co_await refuse(error(Code::kInvalid, cat("the request's body is larger than ",
                                                        limits.body_bytes, " bytes")),
                              413);
  if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
    co_return co_await refuse(error(Code::kInvalid, cat("the request's headers are larger than ",
                                                        limits.header_bytes, " bytes")),
                              431);
  // The client went away, between requests or inside one.
  if (failed == http::error::end_of_stream ||
      failed.category() == asio::error::get_system_category())
    co_return Next::kClose;
  co_return co_await refuse(
      error(Code::kInvalid, cat("the request is not valid HTTP: ", failed.message())), 400);
}

Task<HttpConnection::Next> HttpConnection::refuse(Error why, int status) {
  Response response = host_->render(why);
  response.status = status;
  keep_alive_ = false;
  co_await write_response(std::move(response));
  error_code ignored;
  stream_.shutdown(Stream::shutdown_send, ignored);
  arm(kLingerMs);
  co_await discard_input();
  co_return Next::kClose;
}

Task<HttpConnection::Next> HttpConnection::write_answer(Answer answer) {
  if (ended_) co_return Next::kClose;
  if (auto* response = std::get_if<Response>(&answer))
    co_return co_await write_response(std::move(*response));
  if (auto* stream = std::get_if<StreamAnswer>(&answer))
    co_return co_await begin_stream(std::move(*stream));
  co_return begin_websocket(std::move(std::get<UpgradeAnswer>(answer)));
}

Task<HttpConnection::Next> HttpConnection::write_response(Response response) {
  bool keep_alive = keep_alive_ && !winding_down_;
  arm(host_->limits.idle.value);
  std::string head = response_head(response, Framing::kLength, keep_alive);
  std::array<asio::const_buffer, 2> parts{asio::buffer(head), asio::buffer(response.body)};
  if (head_only_) parts[1] = {};
  auto [failed, bytes] = co_await asio::async_write(stream_, parts, kTuple);
  co_return failed || !keep_alive ? Next::kClose : Next::kRequest;
}

Task<HttpConnection::Next> HttpConnection::begin_stream(StreamAnswer answer) {
  out_ = std::move(answer.out);
  arm(host_->limits.idle.value);
  std::string head =
      response_head(answer.head, chunked_ ? Framing::kChunked : Framing::kUntilClose, false);
  auto [failed, bytes] = co_await asio::async_write(stream_, asio::buffer(head), kTuple);
  if (failed || ended_) co_return Next::kClose;
  if (head_only_) {
    (*out_)->close("");
    co_return Next::kClose;
  }
  disarm();
  spawn(watch_client());
  (*out_)->attach(
      [weak = weak_from_this()] {
        if (auto self = weak.lock(); self && !self->ended_) self->spawn(self->write_chunks());
      },
      [weak = weak_from_this()](const std::string&) {
        if (auto self = weak.lock()) self->end();
      });
  co_return Next::kElsewhere;
}

Task<void> HttpConnection::write_chunks() {
  auto out = out_;
  while (auto batch = ended_ ? std::nullopt : (*out)->take()) {
    size_t bytes = 0;
    for (const std::string& chunk : batch->chunks) bytes += chunk.size();
    ChunkFrame frame = chunked_ ? frame_chunk(bytes, batch->last) : ChunkFrame{};
    std::vector<asio::const_buffer> parts;
    parts.reserve(batch->chunks.size() + 2);
    parts.push_back(asio::buffer(frame.before));
    for (const std::string& chunk : batch->chunks) parts.push_back(asio::buffer(chunk));
    parts.push_back(asio::buffer(frame.after));
    auto [failed, written] = co_await asio::async_write(stream_, parts, kTuple);
    if (failed) co_return cut(kClientGone);
    (*out)->delivered();
    if (batch->last) {
      (*out)->close("");
      co_return end();
    }
  }
}

// A stream's client has nothing more to say: what it sends is dropped, its end is what we wait for.
Task<void> HttpConnection::watch_client() {
  co_await discard_input();
  if (!ended_) cut(kClientGone);
}

Task<void> HttpConnection::discard_input() {
  std::vector<char> scrap(kReadBytes);
  while (true) {
    auto [failed, bytes] = co_await stream_.async_read_some(asio::buffer(scrap), kTuple);
    if (failed) co_return;
  }
}

HttpConnection::Next HttpConnection::begin_websocket(UpgradeAnswer answer) {
  if (buffer_.size() > 0) {
    (*answer.out)->close("the client sent data before the WebSocket was agreed on");
    return Next::kClose;
  }
  disarm();
  websocket_ = accept_websocket(*host_->loop, Fd(stream_.release()), std::move(answer),
                                [weak = weak_from_this()] {
                                  if (auto self = weak.lock()) self->end();
                                });
  return Next::kElsewhere;
}

}  // namespace

std::shared_ptr<Connection> serve_http(std::shared_ptr<const ConnectionHost> host, Fd socket,
                                       Peer peer) {
  return std::make_shared<HttpConnection>(std::move(host), std::move(socket), peer);
}

// ---- The client's side ----

struct ClientConnection::Impl {
  explicit Impl(Fd socket) : stream(stream_over(context, std::move(socket))) {
    buffer.reserve(kReadBytes);
  }

  using Parser = http::response_parser<http::string_body>;
  // Puts the outcome into `outcome`, and into `head` as soon as status and headers are there.
  Task<void> talk(const Request& request, const OnChunk* on_chunk);
  Task<Result<Response>> exchange(const Request& request, const OnChunk* on_chunk);
  Task<error_code> read_body(Parser& parser, const OnChunk* on_chunk);
  void start(const Request& request, const OnChunk* on_chunk);
  void abort();

  asio::io_context context{1};
  Stream stream;
  flat_buffer buffer{kHeaderLimit + kReadBytes};
  bool reusable = true;
  std::optional<Response> head;
  std::optional<Result<Response>> outcome;
  std::exception_ptr thrown;  // by on_chunk
};

void ClientConnection::Impl::start(const Request& request, const OnChunk* on_chunk) {
  head.reset();
  outcome.reset();
  context.restart();
  asio::co_spawn(context, talk(request, on_chunk),
                 [this](std::exception_ptr caught) { thrown = std::move(caught); });
}

void ClientConnection::Impl::abort() {
  reusable = false;
  error_code ignored;
  stream.close(ignored);
}

Task<void> ClientConnection::Impl::talk(const Request& request, const OnChunk* on_chunk) {
  outcome.emplace(co_await exchange(request, on_chunk));
}

Task<Result<Response>> ClientConnection::Impl::exchange(const Request& request,
                                                        const OnChunk* on_chunk) {
  std::string text = request_head(request);
  std::array<asio::const_buffer, 2> parts{asio::buffer(text), asio::buffer(request.body)};
  // A failure is not the end: a server that refuses a body stops reading it and says why.
  co_await asio::async_write(stream, parts, kTuple);

  Parser parser;
  parser.header_limit(kHeaderLimit);
  parser.skip(request.method == "HEAD");
  if (on_chunk)
    parser.body_limit(boost::none);
  else
    parser.body_limit(kResponseLimit);
  auto [failed, bytes] = co_await http::async_read_header(stream, buffer, parser, kTuple);
  if (failed) {
    reusable = false;
    co_return error(Code::kUnavailable, cat("the server gave no answer: ", failed.message()));
  }
  const auto& message = parser.get();
  head = Response{static_cast<int>(message.result_int()), take_headers(message), {}};
  reusable = message.keep_alive();
  bool chunks = on_chunk && head->ok();
  error_code cut = co_await read_body(parser, chunks ? on_chunk : nullptr);
  if (cut) reusable = false;
  if (cut == http::error::body_limit)
    co_return error(Code::kExhausted,
                    cat("the server's answer is larger than ", kResponseLimit, " bytes"));
  if (cut)
    co_return error(Code::kUnavailable, cat("the server broke its answer off: ", cut.message()));
  Response response = *head;
  if (!chunks) response.body = std::move(parser.get().body());
  co_return response;
}

Task<error_code> ClientConnection::Impl::read_body(Parser& parser, const OnChunk* on_chunk) {
  // Eager parsing asks for more input before it gives out what it has.
  parser.eager(!on_chunk);
  while (true) {
    std::string& body = parser.get().body();
    if (on_chunk && !body.empty()) {
      std::string chunk = std::exchange(body, {});
      if (!(*on_chunk)(chunk)) {
        reusable = false;
        co_return error_code();
      }
    }
    if (parser.is_done()) co_return error_code();
    auto [failed, bytes] = co_await http::async_read_some(stream, buffer, parser, kTuple);
    if (failed && (failed != http::error::end_of_stream || !parser.is_done())) co_return failed;
  }
}

ClientConnection::ClientConnection(Fd socket) : impl_(std::make_unique<Impl>(std::move(socket))) {}
ClientConnection::~ClientConnection() = default;

Result<Response> ClientConnection::request(const Request& request, Millis deadline) {
  Impl& impl = *impl_;
  impl.start(request, nullptr);
  impl.context.run_for(std::chrono::milliseconds(deadline.value));
  if (!impl.outcome) {
    impl.abort();
    impl.context.run();
    return error(Code::kTimeout,
                 cat("the server did not answer within ", format_duration(deadline)));
  }
  return std::move(*impl.outcome);
}

Result<Response> ClientConnection::stream(const Request& request, const OnChunk& on_chunk,
                                          std::stop_token stop) {
  Impl& impl = *impl_;
  impl.start(request, &on_chunk);
  {
    std::stop_callback interrupt(stop,
                                 [&impl] { asio::post(impl.context, [&impl] { impl.abort(); }); });
    impl.context.run();
  }
  impl.reusable = false;
  if (impl.thrown) std::rethrow_exception(std::exchange(impl.thrown, nullptr));
  if (!stop.stop_requested()) return std::move(*impl.outcome);
  if (impl.head) return std::move(*impl.head);
  return error(Code::kUnavailable, "the request was stopped before the server answered");
}

bool ClientConnection::reusable() const {
  return impl_->reusable && impl_->buffer.size() == 0 &&
         peek_input(impl_->stream.native_handle()) == Input::kNone;
}

}  // namespace tessera::net
