#pragma once
// One request's answer, given once, from any thread, at any time.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "net/http.h"
#include "net/outbox.h"
#include "net/websocket.h"

namespace tessera::net {

// The body of a response that is written bit by bit, such as a log. All calls are safe from any
// thread. Letting go of the last handle without finish() cuts the client off, so that it does not
// take what it has for the whole.
class BodyStream {
 public:
  explicit BodyStream(std::shared_ptr<Outbox> out) : out_(std::move(out)) {}
  ~BodyStream() { out_->abandon("the server gave the stream up"); }
  BodyStream(const BodyStream&) = delete;
  BodyStream& operator=(const BodyStream&) = delete;

  // Queues a chunk; false once the client is gone. A client that lets more than kStreamBufferLimit
  // pile up is cut off.
  bool write(std::string chunk) { return out_->push(std::move(chunk)); }
  // Waits for room first, at most so long; then the client is cut off. Not on the I/O thread.
  bool write_within(std::string chunk, Millis wait) {
    return out_->push_within(std::move(chunk), wait);
  }
  // The body is complete. What is queued is still delivered.
  void finish() { out_->finish(); }
  // Called once, on the I/O thread, with the reason; it is empty when all was delivered.
  void on_closed(std::function<void(const std::string& reason)> callback) {
    out_->on_closed(std::move(callback));
  }
  bool closed() const { return out_->closed(); }
  // Bytes that the client has not taken yet.
  size_t queued_bytes() const { return out_->queued_bytes(); }

 private:
  const std::shared_ptr<Outbox> out_;
};

inline constexpr char kClientGone[] = "the client closed the connection";

// Closes an outbox when nobody is left to read it: the connection went before the answer came.
class OutboxReader {
 public:
  explicit OutboxReader(std::shared_ptr<Outbox> out) : out_(std::move(out)) {}
  ~OutboxReader() { out_->close(kClientGone); }
  OutboxReader(const OutboxReader&) = delete;
  OutboxReader& operator=(const OutboxReader&) = delete;
  Outbox* operator->() const { return out_.get(); }

 private:
  const std::shared_ptr<Outbox> out_;
};

// The three ways to answer. For net's own files.
struct StreamAnswer {
  Response head;
  std::shared_ptr<OutboxReader> out;
};
struct UpgradeAnswer {
  Request head;
  std::string subprotocol;
  std::shared_ptr<WebSocketCore> core;
  std::shared_ptr<OutboxReader> out;
};
using Answer = std::variant<Response, StreamAnswer, UpgradeAnswer>;

// The connection that waits for the answer.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void answer(Answer answer) = 0;  // on the loop's thread, once
};

// What an Exchange needs to know besides its request.
struct ExchangeOrigin {
  std::shared_ptr<Loop> loop;
  std::weak_ptr<AnswerSink> sink;
  size_t stream_buffer_bytes = kStreamBufferLimit;
  std::function<Response(const Error&)> render;
};

// A copyable handle. The first answer counts. When the last copy goes without one, the client gets
// a 500 and the log a line.
class Exchange {
 public:
  Exchange(ExchangeOrigin origin, const Request& request);

  // "GET /path", for a log or a message.
  const std::string& label() const;
  // False when it was answered before; the same for the others below.
  bool respond(Response response) const;
  // The status and headers go out now; never null, but closed already when answered before or when
  // the client is gone. The connection ends with the stream.
  std::shared_ptr<BodyStream> start_stream(int status, Headers headers) const;
  // Becomes a WebSocket, with one of the subprotocols that the client offered, or with none ("").
  // On an error (kInvalid: no WebSocket asked for, or not that one) the exchange is still to be
  // answered.
  Result<std::shared_ptr<WebSocket>> upgrade(std::string_view subprotocol) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tessera::net
