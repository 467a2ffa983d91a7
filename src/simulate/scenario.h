#pragma once
// A small world as text, and what should happen in it: docs/simulate.md has the language.

#include "simulate/simulator.h"

namespace tessera::simulate {

struct Scenario {
  Workload workload;
  Policy policy = policies().front();
  std::vector<std::string> expected;  // lines behind "---"; empty: nothing is expected
};

// Errors name the line.
Result<Scenario> parse_scenario(std::string_view text);

// What happens, in lines.
std::vector<std::string> play(const Scenario& scenario);

// The first difference to what is expected, as an error; Ok when there is none.
Status compare(const Scenario& scenario, const std::vector<std::string>& happened);

}  // namespace tessera::simulate
