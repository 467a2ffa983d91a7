#pragma once
// The report of `tessera simulate`: one HTML file with everything in it.

#include <string>
#include <vector>

#include "simulate/summary.h"

namespace tessera::cli {

struct Simulated {
  std::string policy;
  simulate::Outcome outcome;
  simulate::Summary summary;
};

// A page that opens without a network: the table and, over time, what is in use, the queue, the
// waiting jobs of each project and the fragmentation, of all policies.
std::string simulation_report(const std::vector<Simulated>& runs, const std::string& table);

}  // namespace tessera::cli
