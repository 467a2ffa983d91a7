#pragma once
// The virtual programs that containers of the simulation run. A command is a sequence of words,
// done in turn; at its end the program exits with 0:
//
//   print TEXT        a line on standard output       sleep 90s     lets virtual time pass
//   print-error TEXT  a line on standard error        wait          until SimWorld::release()
//   print-part TEXT   without a newline               loop          runs for ever
//   cat               standard input to its output    exit N        ends with this code
//   ignore-term       SIGTERM does nothing from here  oom           ends by the OOM killer
//
// So ["print", "epoch 1", "sleep", "1h", "exit", "3"] is a program. Anything else is a program that
// we know nothing about: it runs for a while that the seed, the task and the attempt decide, and
// exits with 0. One whose first word contains "missing" is not in its image.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace tessera::engine::sim {

struct Op {
  enum class Kind { kPrint, kSleep, kAwaitRelease, kEcho, kLoop, kIgnoreTerm, kOutOfMemory, kExit };
  Kind kind = Kind::kExit;
  std::string text;  // kPrint, with its newline if any
  int stream = 1;
  Millis time;  // kSleep
  int code = 0;
};
using Program = std::vector<Op>;

// nullopt when the words are not wholly of the language above.
std::optional<Program> parse_program(std::span<const std::string> words);

}  // namespace tessera::engine::sim
