#pragma once
// Runs a workload through the rules of the server under a clock of its own: the same core::step and
// sched::plan, with an engine that starts at once and ends a job when its time is over.

#include <functional>

#include "core/sched/plan.h"
#include "simulate/workload.h"

namespace tessera::simulate {

// In which order waiting jobs of one priority are looked at.
enum class Order {
  kSubmission,  // as the server does
  kShortest,    // least running time × accelerators first, as if it were known
  kLearnt,      // by the Gittins index learnt from the jobs that ended (core/sched/durations)
};

struct Policy {
  std::string name;
  sched::Policy placement;
  Order order = Order::kSubmission;
};
// Those that can be chosen by name.
const std::vector<Policy>& policies();

// What became of a job.
struct Fate {
  const Submission* job = nullptr;
  Millis started{-1};  // when it last got its devices; -1: it never did
  Millis ended{-1};
};

// The cluster after something changed.
struct Sample {
  Millis at;
  MilliGpu used;
  int64_t waiting = 0;     // jobs
  int64_t fragmented = 0;  // idle accelerators of machines that are partly in use
  std::map<std::string, int64_t> waiting_of;  // by project
};

struct Outcome {
  std::vector<Fate> fates;  // in the order of submission
  std::vector<Sample> samples;
  MilliGpu capacity;
  std::map<std::string, int64_t> refused;  // why jobs were not accepted, and how many
  std::vector<std::string> log;            // decisions, news of why jobs wait, ends; if asked for
};

struct Watch {
  std::function<void(size_t)> progress;  // told how many of the jobs have been submitted
  bool log = false;
};

// The same workload and policy give the same outcome.
Outcome run(const Workload& workload, const Policy& policy, const Watch& watch);

}  // namespace tessera::simulate
