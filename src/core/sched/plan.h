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
  bool operator==(const Request&) const = default;
};
using RequestPtr = std::shared_ptr<const Request>;

struct ProjectView {
  std::optional<MilliGpu> max;
  MilliGpu held;
};

struct Snapshot {
  Instant now;
  std::vector<NodeView> nodes;    // by name
  std::vector<RequestPtr> queue;  // in queue order: priority, then submission
  std::map<std::string, ProjectView> projects;
};

enum class Packing { kPack, kSpread };
struct Policy {
  Packing packing = Packing::kPack;
};

struct Assignment {
  std::string task;
  std::string node;
  std::vector<api::Allocation> allocations;
  MilliCpu cpus;
  MiB memory;
};
struct Decision {
  std::string job;
  std::vector<Assignment> tasks;
};
struct Wait {
  RequestPtr request;
  std::shared_ptr<const std::string> message;  // one text for all that wait for the same
};
struct Plan {
  std::vector<Decision> decisions;
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
