#include "net/exchange.h"

#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "base/text.h"

namespace tessera::net {

struct Exchange::State {
  explicit State(ExchangeOrigin from) : origin(std::move(from)) {}
  ~State() {
    if (answered) return;
    origin.loop->dispatch([sink = origin.sink, label = origin.label, render = origin.render] {
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
  std::atomic<bool> answered = false;
};

Exchange::Exchange(ExchangeOrigin origin) : state_(std::make_shared<State>(std::move(origin))) {}

bool Exchange::respond(Response response) const {
  return state_->give(std::move(response));
}

std::shared_ptr<BodyStream> Exchange::start_stream(int status, Headers headers) const {
  const ExchangeOrigin& origin = state_->origin;
  auto out = std::make_shared<Outbox>(origin.loop, origin.stream_buffer_bytes);
  // When the answer comes too late, its reader goes at once, which closes the stream.
  state_->give(
      StreamAnswer{Response{status, std::move(headers), {}}, std::make_shared<OutboxReader>(out)});
  return std::make_shared<BodyStream>(std::move(out));
}

Result<std::shared_ptr<WebSocket>> Exchange::upgrade(std::string_view subprotocol) const {
  const ExchangeOrigin& origin = state_->origin;
  if (!origin.head)
    return error(Code::kInvalid,
                 cat(origin.label, " needs a WebSocket: send 'Upgrade: websocket'"));
  auto offered = offered_subprotocols(*origin.head);
  if (!subprotocol.empty() && std::ranges::find(offered, subprotocol) == offered.end())
    return error(Code::kInvalid, cat(origin.label, " speaks the WebSocket subprotocol ",
                                     quoted(subprotocol), ", which the client does not offer"));
  auto core = std::make_shared<WebSocketCore>(origin.loop, origin.stream_buffer_bytes);
  state_->give(UpgradeAnswer{*origin.head, std::string(subprotocol), core,
                             std::make_shared<OutboxReader>(core->out)});
  return std::make_shared<WebSocket>(std::move(core), std::string(subprotocol));
}

}  // namespace tessera::net
