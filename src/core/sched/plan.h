#pragma once
// The planner's contract: a snapshot and a policy in, a plan out. Nothing is changed and nothing is
// asked; the same snapshot, policy and seed always give the same plan. docs/scheduling.md explains
// the rules to an admin.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/objects.h"
#include "base/rng.h"

namespace tessera::sched {

struct Device {
  std::string uuid;
  int64_t index = 0;
  std::string vendor;
  std::string model;
  MiB memory;  // what tasks can use of it
  bool healthy = true;
  bool exclusive = false;  // held whole
  MiB memory_held;         // by slices
  Percent compute_held;
  std::string project;  // whose slices are on it; empty: none
  bool idle() const { return !exclusive && memory_held.value == 0 && compute_held.value == 0; }
};

struct NodeView {
  std::string name;
  bool open = true;           // ready and not cordoned
  std::string closed_reason;  // when not open
  MilliCpu cpus, cpus_free;
  MiB memory, memory_free;
  std::vector<Device> devices;  // by index
};

// What one task asks for.
struct Demand {
  int64_t devices = 0;               // distinct devices of one node
  std::optional<MilliGpu> fraction;  // < 1000: a part of one device, memory and compute alike
  std::optional<MiB> slice_memory;   // a slice of each device instead of the whole
  std::optional<Percent> slice_compute;
  api::AcceleratorSelector selector;
  std::optional<MilliCpu> cpus;  // fair part of the node when empty
  std::optional<MiB> memory;

  bool sliced() const { return fraction || slice_memory || slice_compute; }
  bool operator==(const Demand&) const = default;
};
Demand demand_of(const api::Resources& resources);
std::string describe(const Demand& demand);  // "2 accelerators", "a slice of 10Gi of 1 accelerator"

struct Request {
  std::string job;  // "project/name"
  std::string project;
  std::vector<std::string> tasks;  // those that may start, in order of their index
  bool gang = true;                // all of them at once or none; false: one by one
  Demand demand;                   // of each
  std::optional<Instant> not_before;
  bool failed_before = false;       // not_before is a back-off
  bool ready = true;                // false: a member of the gang still has to stop
  std::string blocked;              // why it may not start whatever is free; empty: it may
  std::optional<int64_t> parallel;  // of an array: at most so many at a time
  std::optional<int64_t> slots;     // and so many of them may start now
  int64_t priority = 0;
  std::optional<Millis> limit;  // it is stopped when it has run this long
  bool operator==(const Request&) const = default;
};
using RequestPtr = std::shared_ptr<const Request>;

struct ProjectView {
  std::optional<MilliGpu> max;
  MilliGpu held;
  bool operator==(const ProjectView&) const = default;
};

// Where a task runs and what it takes there.
struct Assignment {
  std::string task;
  std::string node;
  std::vector<api::Allocation> allocations;
  MilliCpu cpus;
  MiB memory;
  bool operator==(const Assignment&) const = default;
};

// A task that holds something.
struct Holder {
  Assignment assignment;
  std::string job;
  std::string project;
  MilliGpu charge;             // against the project's quota
  std::optional<Instant> end;  // when its limit stops it, once it runs
  std::optional<Millis> limit;
  int64_t priority = 0;
  bool gang = true;              // goes with all other tasks of its job
  bool preemptible = false;      // it may be sent back to the queue
  bool stopping = false;         // it is on its way out
  Millis grace;                  // how long that may take
  std::optional<Instant> since;  // when it began to run
  bool operator==(const Holder&) const = default;
};

// How many tasks with this demand have arrived.
struct Arrival {
  Demand demand;
  int64_t tasks = 0;
  bool operator==(const Arrival&) const = default;
};

struct Snapshot {
  Instant now;
  std::vector<NodeView> nodes;    // by name, without what is held
  std::vector<RequestPtr> queue;  // in queue order: priority, then submission
  std::map<std::string, ProjectView> projects;
  std::vector<Holder> holders;  // by task
  std::vector<Arrival> arrivals;
};

// Where tasks go. Fragmentation: where the least of the idle accelerators becomes useless for the
// jobs that usually come. Pack: where the fewest devices are idle. Spread: where the most are.
enum class Placement { kFragmentation, kPack, kSpread };
struct Policy {
  Placement placement = Placement::kFragmentation;
  // A task that has run for less is not sent back to the queue: its work would be lost for little.
  Millis preempt_after{300'000};
  // So many tasks at most are on their way out at a time because they give way.
  int64_t preempt_most = 64;
};

struct Decision {
  std::string job;
  std::vector<Assignment> tasks;
};
// A task that gives way to a job of higher priority: back to the queue with it.
struct Eviction {
  std::string task;
  std::string job;  // its own
  std::string beneficiary;
};
struct Wait {
  RequestPtr request;
  std::shared_ptr<const std::string> message;  // one text for all that wait for the same
};
struct Plan {
  std::vector<Decision> decisions;
  std::vector<Eviction> evictions;
  std::vector<Wait> waits;  // in queue order
};

Plan plan(const Snapshot& snapshot, const Policy& policy, Rng rng);

// For `why`: the same plan, with every node's answer to this job and what would let it start.
struct Explanation {
  std::string message;
  int64_t position = 0;  // 1 is next; 0: the job would start now or is not queued
  std::vector<std::string> details;
  std::vector<std::string> remedies;
};
Explanation explain(const Snapshot& snapshot, const Policy& policy, Rng rng,
                    const std::string& job);

}  // namespace tessera::sched
