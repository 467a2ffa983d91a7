#pragma once
// What is simulated: machines, projects, and jobs with the time at which each is submitted and how
// long it runs. Read from a file of ours, from the formats of public traces, or from Slurm.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/job.h"
#include "api/objects.h"
#include "base/result.h"

namespace tessera::simulate {

struct Machine {
  std::string name;
  int64_t accelerators = 0;
  std::string model;
  MiB accelerator_memory;
  MilliCpu cpus;
  MiB memory;
};

struct Submission {
  std::string name, project;
  Millis at;                 // since the beginning
  Millis runs;               // once it has started
  api::Resources resources;  // of each replica
  int64_t replicas = 1;
  int64_t priority = 0;
};

// What an admin or a fault does meanwhile.
struct Happening {
  enum class What { kCordon, kUncordon, kFence, kHeal, kStop };
  Millis at;
  What what = What::kCordon;
  std::string target;  // a machine, a device ("machine/0"), a job ("project/name")
};

struct Workload {
  std::vector<Machine> machines;
  std::map<std::string, api::Quota> projects;  // of those that jobs name the ones with a quota
  std::vector<Submission> jobs;                // by time
  std::vector<Happening> happenings;           // by time
};

// Adds what a file has. Its kind is seen from its first line: YAML as in docs/simulate.md, a list
// of nodes or pods of Alibaba's openb trace, jobs of Muri, or of Philly and Lingjun as RFold writes
// them, or `sacct -P`. Errors name the line.
Status read_file(std::string_view text, Workload& workload);

// "2x8xH100": two machines with eight each.
Status add_machines(std::string_view text, Workload& workload);

// "project/a.quota.max=16".
Status set_value(std::string_view text, Workload& workload);

// Once all is read: sorts the jobs, and makes gangs of those that ask for more accelerators than
// any machine has, of the fewest equal replicas that fit. An error if there is nothing to simulate.
Status complete(Workload& workload);

}  // namespace tessera::simulate
