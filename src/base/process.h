#pragma once
// Runs another program to its end: no shell, its output captured, under a deadline.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tessera {

struct ProgramSpec {
  std::vector<std::string> argv;           // argv[0] is looked up in PATH when it has no '/'
  std::map<std::string, std::string> env;  // added to the own environment
  std::string input;                       // written to its standard input
  Millis deadline{30'000};                 // then its process group gets SIGKILL
  // Gets the output as it comes (1: standard output, 2: standard error), which is then not kept.
  std::function<void(int stream, std::string_view bytes)> on_output;
  // Called about every kTickMs while it runs, to show progress; false ends it as a deadline does.
  std::function<bool()> on_tick;
};
inline constexpr int kTickMs = 200;

struct ProgramOutput {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

// Fails when the program cannot be started (kNotFound), outlives the deadline (kTimeout) or was
// ended by on_tick (kConflict). A non-zero exit is a result, not a failure.
Result<ProgramOutput> run_program(const ProgramSpec& spec);

}  // namespace tessera
