#pragma once
// Moves bytes between a session with a program and the caller's own terminal or pipes.

#include <optional>
#include <string>

#include "cli/console.h"
#include "cli/signals.h"
#include "client/session.h"

namespace tessera::cli {

struct PumpOptions {
  bool input = false;          // read standard input
  bool output = true;          // print what comes; else it is dropped
  bool tty = false;            // raw terminal, its size is sent, the detach keys leave
  std::string detach_keys;     // the bytes that they send; empty: ctrl-p ctrl-q
  Signals* signals = nullptr;  // SIGWINCH resizes; any other one ends the pump
  int stop_fd = -1;            // readable: end the pump
};

struct PumpEnd {
  std::optional<api::ExitStatus> status;  // what the server said at the end
  bool detached = false;                  // by the keys, or by stop_fd
  std::optional<int> signal;              // which ended it
  std::string broken;                     // why the connection ended without a status
};

// Until the program or the connection ends, or the caller wants to leave.
PumpEnd pump(client::Session& session, const Console& console, const PumpOptions& options);

// Finds the keys, one after the other, in what is typed. Pure.
class DetachKeys {
 public:
  explicit DetachKeys(std::string keys = {}) : keys_(keys.empty() ? "\x10\x11" : std::move(keys)) {}

  // What is to be sent of `typed`; nullopt when the keys were typed.
  std::optional<std::string> filter(std::string_view typed);

 private:
  std::string keys_;
  size_t matched_ = 0;  // so many of the keys were typed and are kept back
};

}  // namespace tessera::cli
