#pragma once
// Runs another program to its end: no shell, its output captured, under a deadline.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tessera {

struct ProgramSpec {
  std::vector<std::string> argv;           // argv[0] is looked up in PATH when it has no '/'
  std::map<std::string, std::string> env;  // added to the own environment
  std::string input;                       // written to its standard input
  Millis deadline{30'000};                 // then its process group gets SIGKILL
};

struct ProgramOutput {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

// Fails when the program cannot be started (kNotFound) or outlives the deadline (kTimeout). A
// non-zero exit is a result, not a failure.
Result<ProgramOutput> run_program(const ProgramSpec& spec);

}  // namespace tessera
