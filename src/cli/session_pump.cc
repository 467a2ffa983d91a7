#include "cli/session_pump.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/text.h"
#include "cli/mailbox.h"

namespace tessera::cli {

namespace {

// One read of the input; small enough that a pasted text does not wait for a full buffer.
constexpr size_t kInputChunk = 16 << 10;

class Pump {
 public:
  Pump(client::Session& session, const Console& console, const PumpOptions& options)
      : session_(session),
        console_(console),
        options_(options),
        keys_(options.detach_keys),
        reading_(options.input) {}

  PumpEnd run() {
    std::optional<RawTerminal> raw;
    if (options_.tty) {
      raw.emplace(console_.in());
      send_size();
    }
    std::jthread receiver([this] { receive(); });
    while (!over_) step();
    if (!received_all_) session_.close();
    return std::move(end_);
  }

 private:
  void receive() {
    std::optional<api::ExitStatus> status;
    while (auto frame = session_.receive()) {
      if (frame->channel == client::Channel::kStatus) {
        if (auto parsed = client::to_exit_status(*frame); parsed.ok()) status = *parsed;
      } else if (options_.output && frame->channel == client::Channel::kStdout) {
        console_.print(frame->data);
      } else if (options_.output && frame->channel == client::Channel::kStderr) {
        console_.print_error(frame->data);
      }
    }
    ended_.put(std::move(status));
  }

  void step() {
    pollfd waits[] = {{ended_.fd(), POLLIN, 0},
                      {options_.signals ? options_.signals->fd() : -1, POLLIN, 0},
                      {options_.stop_fd, POLLIN, 0},
                      {reading_ ? console_.in() : -1, POLLIN, 0}};
    if (::poll(waits, std::size(waits), -1) < 0) return;  // interrupted
    if (waits[1].revents) take_signals();
    if (waits[2].revents) leave();
    if (waits[3].revents && !over_) take_input();
    // Last, so that what was typed before the end is not held against the program.
    if (waits[0].revents) take_end();
  }

  void leave() {
    end_.detached = true;
    over_ = true;
  }

  void take_end() {
    for (auto& status : ended_.take_all()) end_.status = std::move(status);
    if (!end_.status) end_.broken = session_.broken();
    received_all_ = true;
    over_ = true;
  }

  void take_signals() {
    while (auto number = options_.signals->take()) {
      if (*number == SIGWINCH) {
        send_size();
        continue;
      }
      end_.signal = number;
      over_ = true;
    }
  }

  void take_input() {
    char buffer[kInputChunk];
    ssize_t got = ::read(console_.in(), buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      reading_ = false;
      session_.close_input();
      return;
    }
    std::string_view typed(buffer, static_cast<size_t>(got));
    if (!options_.tty) {
      session_.send_input(typed);
      return;
    }
    auto text = keys_.filter(typed);
    if (!text) return leave();
    if (!text->empty()) session_.send_input(*text);
  }

  void send_size() {
    winsize size{};
    if (options_.tty && ::ioctl(console_.in(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
      session_.resize(size.ws_col, size.ws_row);
  }

  client::Session& session_;
  const Console& console_;
  const PumpOptions& options_;
  Mailbox<std::optional<api::ExitStatus>> ended_;
  DetachKeys keys_;
  bool reading_;
  bool over_ = false;
  bool received_all_ = false;
  PumpEnd end_;
};

}  // namespace

PumpEnd pump(client::Session& session, const Console& console, const PumpOptions& options) {
  return Pump(session, console, options).run();
}

std::optional<std::string> DetachKeys::filter(std::string_view typed) {
  std::string out;
  for (char key : typed) {
    if (key == keys_[matched_]) {
      if (++matched_ == keys_.size()) return std::nullopt;
      continue;
    }
    // What was kept back was no begin of the keys after all; the last of it may begin them anew.
    out.append(keys_, 0, matched_);
    matched_ = key == keys_[0] ? 1 : 0;
    if (matched_ == 0) out += key;
  }
  return out;
}

}  // namespace tessera::cli
