#pragma once
// Tessera's orders (core/sched/order) under the accounting of the traces.

#include <memory>

#include "bench/completion/accounting.h"

namespace bench {

struct Knowledge {
  bool durations = false;  // how long each job runs, else learnt from those before it
  bool sharing = false;    // several jobs may take turns on the same devices
};
std::unique_ptr<Scheduler> make_tessera(Knowledge knowledge);

// For jobs that keep nothing when they are stopped: durations unknown, no sharing; who runs is left
// alone for a minimum time, and then unless what would be lost is little beside what is gained.
std::unique_ptr<Scheduler> make_tessera_default();

}  // namespace bench
