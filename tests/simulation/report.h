#pragma once
// What a run of the simulation is told and what it answers.

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tessera::simulation {

// Mistakes that a server could make, made on purpose: each must be noticed, or the checks are worth
// nothing.
enum class Bug {
  kNone,
  kForgetOutbox,       // after a crash, effects that were committed are not carried out
  kSkipReconcile,      // after a crash, the engine is not asked what it has
  kReplyBeforeCommit,  // a submission is acknowledged although the store did not take it
  kActBeforeCommit,    // effects are carried out although the store did not take them
  kPretendCommit,      // the store says it took a transaction, and did not
  kOldExitAsNew,       // an exit is taken for one of the newest attempt
  kReleaseTwice,       // a running task's devices are given back
  kReorderEffects,     // effects of one task are carried out in any order
  kDropExits,          // an exit is not heard of
  kDropEffectDone,     // a finished effect is not noted
  kForgetKeys,         // a repeated request is taken for a new one
  kLoseUsage,          // what was used is not written down
  kHealthAsNew,        // an older attempt's health is taken for that of the newest one
  // What a job asked for is forgotten.
  kForgetDependencies,  // it starts before the job that it waits for has come so far
  kForgetParallel,      // more tasks of its array run at a time
  kForgetSingleton,     // it runs beside another of its name
  kForgetRequeue,       // its loss is a failure
  kForgetRestarts,      // its end is the last one
};
constexpr std::array<std::string_view, 19> enum_names(Bug) {
  return {"none",
          "forget-outbox",
          "skip-reconcile",
          "reply-before-commit",
          "act-before-commit",
          "pretend-commit",
          "old-exit-as-new",
          "release-twice",
          "reorder-effects",
          "drop-exits",
          "drop-effect-done",
          "forget-keys",
          "lose-usage",
          "health-as-new",
          "forget-dependencies",
          "forget-parallel",
          "forget-singleton",
          "forget-requeue",
          "forget-restarts"};
}

// Most runs are short, since a mistake that takes little to show is found soonest in many small
// worlds; some are long and a few very long, for those that take a history.
constexpr int steps_of_seed(uint64_t seed) {
  if (seed % 200 == 0) return 1'500;
  return seed % 10 == 0 ? 250 : 60;
}

struct Options {
  uint64_t seed = 1;
  int steps = 0;  // of trouble, before everything is let come to rest; 0: as the seed has it
  Bug bug = Bug::kNone;
  size_t lines = 30;  // of the diary: what a person reads before looking at the code
};

// The last things that were done, in words.
class Diary {
 public:
  explicit Diary(size_t most) : most_(most) {}
  void note(Instant at, std::string words);
  std::vector<std::string> lines() const;

 private:
  struct Line {
    Instant at;
    std::string words;
    int64_t times = 1;  // in a row, the first one at `at`
  };
  size_t most_;
  std::deque<Line> lines_;
};

struct Report {
  Options options;
  std::vector<std::string> violations = {};  // empty: all went well
  Diary diary{options.lines};
  uint64_t digest = 0;  // of all that was published, in order
  int64_t ticks = 0, crashes = 0, jobs = 0, starts = 0;
};

// For a person: what went wrong, what came before it, and how to see just that again.
std::string describe(const Report& report);

}  // namespace tessera::simulation
