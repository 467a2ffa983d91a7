#include "client/session.h"

#include "api/codec.h"
#include "client/request.h"
#include "wire/json.h"

namespace tessera::client {

bool Session::send(Channel channel, std::string_view data) {
  std::string message(1, static_cast<char>(channel));
  message += data;
  return socket_->send(std::move(message));
}

bool Session::send_input(std::string_view data) {
  return send(Channel::kStdin, data);
}

bool Session::close_input() {
  return send(Channel::kClose, std::string(1, static_cast<char>(Channel::kStdin)));
}

bool Session::resize(int64_t columns, int64_t rows) {
  api::TerminalSize size{.Width = columns, .Height = rows};
  return send(Channel::kResize, wire::to_json(schema::encode(size)));
}

std::optional<Frame> Session::receive() {
  // An empty message has no channel; nothing in the protocol sends one, so it is skipped.
  while (auto message = socket_->receive())
    if (!message->empty()) return Frame{static_cast<Channel>((*message)[0]), message->substr(1)};
  return std::nullopt;
}

Result<api::ExitStatus> to_exit_status(const Frame& frame) {
  TRY(Value document, parse_answer(schema::describe<api::ExitStatus>(), frame.data));
  return schema::decode<api::ExitStatus>(document);
}

}  // namespace tessera::client
