#pragma once
// A small cluster for tests of the core: commands in, plans applied, what happened as text.

#include <string>
#include <vector>

#include "core/sched/plan.h"
#include "core/state.h"

namespace tessera::core::testing {

class Cluster {
 public:
  Cluster();

  // A node with `devices` devices of one model.
  void add_node(const std::string& name, int64_t devices, MilliCpu cpus = {8000},
                MiB memory = {65536}, const std::string& model = "H100",
                MiB device_memory = {81920});
  void set_device(const std::string& uuid, api::Health health, const std::string& message = "ill");
  void add_project(const std::string& name, std::optional<MilliGpu> max = std::nullopt);

  static api::Job job(const std::string& name, std::optional<int64_t> milli_gpus = std::nullopt);
  // Applies the command; the error's text, or "" when it was taken.
  std::string run(const Command& command);
  std::string submit(api::Job job);
  std::string submit(const std::string& name, std::optional<int64_t> milli_gpus = std::nullopt) {
    return submit(job(name, milli_gpus));
  }

  // Plans and applies; one line a decision ("a: n1[0,1]") and a wait ("b waits …"), in queue order.
  std::string plan(sched::Policy policy = {});

  // Reports about replica `index` of the job's current attempt.
  void started(const std::string& job, int64_t index = 0);
  void exited(const std::string& job, int64_t exit_code, int64_t index = 0);
  void start_failed(const std::string& job, api::Reason reason, const std::string& message);
  void advance(Millis by);

  const api::Job& get(const std::string& job) const {
    return state.jobs.at(object_key("default", job));
  }
  bool has(const std::string& job) const { return state.jobs.contains(object_key("default", job)); }
  const api::Task& task(const std::string& job, int64_t index = 0) const;
  std::string phase(const std::string& job) const;  // "Running", "Failed ExitCode"
  // Effects emitted since the last call: "ensure a-0#1".
  std::string effects();

  State state;
  Instant now{1'000'000};
};

}  // namespace tessera::core::testing
