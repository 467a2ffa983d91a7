#include "net/exchange.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/log.h"
#include "base/text.h"

namespace tessera::net {

struct Exchange::State {
  State(ExchangeOrigin from, const Request& request)
      : origin(std::move(from)), label(cat(request.method, " ", request.path)) {
    if (asks_for_websocket(request))
      head = Request{request.method, request.path, request.params, request.headers, {}};
  }
  ~State() {
    if (answered) return;
    origin.loop->dispatch([sink = origin.sink, label = label, render = origin.render] {
      auto waiting = sink.lock();
      if (!waiting) return;
      log::error(cat(label, ": the handler gave no answer"));
      waiting->answer(render(error(Code::kInternal,
                                   "the server gave no answer to this request: this is a fault in "
                                   "Tessera, please report it")));
    });
  }

  bool give(Answer answer) {
    if (answered.exchange(true)) return false;
    // The connection may be used, and let go of, only on the loop's thread.
    origin.loop->dispatch([sink = origin.sink, answer = std::move(answer)]() mutable {
      if (auto waiting = sink.lock()) waiting->answer(std::move(answer));
    });
    return true;
  }

  const ExchangeOrigin origin;
  const std::string label;      // "GET /path", for people
  std::optional<Request> head;  // only when it asks for a WebSocket
  std::atomic<bool> answered = false;
};

Exchange::Exchange(ExchangeOrigin origin, const Request& request)
    : state_(std::make_shared<State>(std::move(origin), request)) {}

const std::string& Exchange::label() const {
  return state_->label;
}

bool Exchange::respond(Response response) const {
  return state_->give(std::move(response));
}

std::shared_ptr<BodyStream> Exchange::start_stream(int status, Headers headers) const {
  const ExchangeOrigin& origin = state_->origin;
  auto out = std::make_shared<Outbox>(origin.loop, origin.stream_buffer_bytes, Pieces::kBytes);
  // When the answer comes too late, its reader goes at once, which closes the stream.
  state_->give(
      StreamAnswer{Response{status, std::move(headers), {}}, std::make_shared<OutboxReader>(out)});
  return std::make_shared<BodyStream>(std::move(out));
}

Result<std::shared_ptr<WebSocket>> Exchange::upgrade(std::string_view subprotocol) const {
  const ExchangeOrigin& origin = state_->origin;
  if (!state_->head)
    return error(Code::kInvalid,
                 cat(state_->label, " needs a WebSocket: send 'Upgrade: websocket'"));
  auto offered = offered_subprotocols(*state_->head);
  if (!subprotocol.empty() && std::ranges::find(offered, subprotocol) == offered.end())
    return error(Code::kInvalid, cat(state_->label, " speaks the WebSocket subprotocol ",
                                     quoted(subprotocol), ", which the client does not offer"));
  auto core = std::make_shared<WebSocketCore>(origin.loop, origin.stream_buffer_bytes);
  state_->give(UpgradeAnswer{*state_->head, std::string(subprotocol), core,
                             std::make_shared<OutboxReader>(core->out)});
  return std::make_shared<WebSocket>(std::move(core), std::string(subprotocol));
}

}  // namespace tessera::net
