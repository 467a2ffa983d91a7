#pragma once
// What a run came to, in numbers.

#include "simulate/simulator.h"

namespace tessera::simulate {

// Of some of the jobs; times in milliseconds.
struct Waits {
  std::string group;
  int64_t jobs = 0, unfinished = 0;
  int64_t mean = 0, median = 0, p99 = 0, most = 0;  // until the last start
  int64_t completion = 0;                           // mean, from submission to the end
  int64_t gpu_ms = 0;                               // held, in thousandths of accelerators × ms
};

struct Summary {
  Waits all;
  int64_t makespan = 0;
  int64_t utilisation = 0;    // thousandths of the capacity, over the makespan
  int64_t fragmentation = 0;  // thousandths of the capacity, over the makespan
  std::vector<Waits> by_project, by_size;
};
Summary summarise(const Outcome& outcome);

}  // namespace tessera::simulate
