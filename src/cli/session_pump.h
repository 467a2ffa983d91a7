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
  bool tty = false;            // raw terminal, its size is sent, ctrl-p ctrl-q detaches
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

// Finds ctrl-p ctrl-q in what is typed. Pure.
class DetachKeys {
 public:
  // What is to be sent of `typed`; nullopt when the keys were typed.
  std::optional<std::string> filter(std::string_view typed);

 private:
  bool half_ = false;  // ctrl-p was typed and is kept back
};

}  // namespace tessera::cli
