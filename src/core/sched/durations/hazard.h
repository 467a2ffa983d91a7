#pragma once
// What is known of how long jobs run, learnt from those that ended and those that still run: the
// hazard, the probability that a job which got so far ends within the next stretch. Counts are kept
// in bins of progress for pools of jobs, from all jobs to ever fewer that are more alike; a pool of
// few jobs leans on the one around it:
//   h = (c + k × h around it) / (n + k), c of n jobs that reached the bin ended in it.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/sched/order/logarithm.h"

namespace tessera::sched {

// Bins of progress: the first 20 s, then each until 1.25 times the end of the one before.
size_t bin_of(int64_t progress_ms);
int64_t start_of_bin(size_t bin);

class Durations {
 public:
  // The pools that a job is in, the widest first.
  using Pools = std::vector<size_t>;
  // The pool of this name; a new one knows nothing.
  size_t pool(const std::string& name);

  // A job of these pools was seen at this progress; `from` is the bin that it was seen in before (0
  // for a new one), and the returned one is to be given next time.
  size_t reached(const Pools& pools, size_t from, int64_t progress_ms);
  // It ended by itself. What it had reached must have been told before.
  void ended(const Pools& pools, size_t bin);

  // The Gittins index of a job that got so far: the largest ratio, over all horizons, of the
  // probability that it ends until then to the time that it is expected to take until then. Only
  // differences of indices mean something.
  Log gittins(const Pools& pools, int64_t progress_ms) const;

 private:
  struct Bin {
    int64_t at_risk = 0, ended = 0;
  };
  const std::vector<int64_t>& hazards(const Pools& pools) const;

  std::map<std::string, size_t> names_;
  std::vector<std::vector<Bin>> pools_;
  mutable std::map<Pools, std::vector<int64_t>> hazards_;  // made from the counts as they are
};

}  // namespace tessera::sched
