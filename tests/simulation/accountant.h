#pragma once
// A second opinion on who used what: counted attempt by attempt from what the server has committed,
// while the server counts by what a project's user holds in all.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/state.h"

namespace tessera::simulation {

class Accountant {
 public:
  // A committed state, as it is from `at` on.
  void look(const core::State& state, Instant at);
  // One sentence for each row of the server's ledger that differs.
  std::vector<std::string> compare(const core::UsageSums& ledger, Instant now) const;

 private:
  using Attempt = std::pair<std::string, int64_t>;  // task and number
  struct Stretch {
    core::Account account;
    core::Holding held;
    Instant since;
  };
  static void add(const Stretch& stretch, Instant until, core::UsageSums& sums);
  void look_at_jobs(const core::State& state, Instant at);

  std::map<Attempt, Stretch> running_;
  std::set<std::string> over_;  // jobs, by uid
  core::UsageSums sums_;
};

}  // namespace tessera::simulation
