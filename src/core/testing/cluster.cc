#include "core/testing/cluster.h"

#include "base/text.h"
#include "core/snapshot.h"
#include "core/step.h"

namespace tessera::core::testing {

Cluster::Cluster() {
  add_project("default");
}

void Cluster::add_node(const std::string& name, int64_t devices, MilliCpu cpus, MiB memory,
                       const std::string& model, MiB device_memory) {
  api::Node node;
  node.metadata.name = name;
  node.status.ready = true;
  node.status.cpus = cpus;
  node.status.memory = memory;
  run(ObserveNode{node});
  ObserveAccelerators seen{name, {}};
  for (int64_t i = 0; i < devices; ++i) {
    api::Accelerator device;
    device.metadata.name = cat(name, "-", i);
    device.status.node = name;
    device.status.vendor = "sim";
    device.status.model = model;
    device.status.index = i;
    device.status.memory = device_memory;
    seen.accelerators.push_back(device);
  }
  run(seen);
}

void Cluster::set_device(const std::string& uuid, api::Health health, const std::string& message) {
  const api::Accelerator& known = state.accelerators.at(uuid);
  ObserveAccelerators seen{known.status.node, {}};
  for (const auto& [name, device] : state.accelerators) {
    if (device.status.node != known.status.node) continue;
    seen.accelerators.push_back(device);
    if (name != uuid) continue;
    seen.accelerators.back().status.health = health;
    seen.accelerators.back().status.message = health == api::Health::kFenced ? message : "";
  }
  run(seen);
}

void Cluster::add_project(const std::string& name, std::optional<MilliGpu> max) {
  api::Project project;
  project.metadata.name = name;
  project.spec.quota.max = max;
  run(CreateProject{project});
}

api::Job Cluster::job(const std::string& name, std::optional<int64_t> milli_gpus) {
  api::Job job;
  job.metadata.name = name;
  job.metadata.project = "default";
  job.metadata.uid = name;
  job.spec.image = "image";
  job.spec.resources.cpus = MilliCpu{100};
  job.spec.resources.memory = MiB{64};
  if (milli_gpus) job.spec.resources.gpus = MilliGpu{*milli_gpus};
  return job;
}

std::string Cluster::run(const Command& command) {
  Status status = step(state, command, now);
  return status.ok() ? "" : status.error().text();
}

std::string Cluster::submit(api::Job job) {
  return run(CreateJob{std::move(job)});
}

std::string Cluster::plan(sched::Policy policy) {
  sched::LinePlan plan = state.planner.plan(policy, now);
  std::string out;
  for (const sched::Decision& decision : plan.decisions) {
    out += state.jobs.at(decision.job).metadata.name + ":";
    for (const sched::Assignment& assignment : decision.tasks) {
      std::vector<std::string> shares;
      for (const api::Allocation& share : assignment.allocations) {
        std::string index = cat(state.accelerators.at(share.accelerator).status.index);
        shares.push_back(share.exclusive ? index
                                         : cat(index, "=", share.memory.value, "MiB/",
                                               share.compute.value, "%"));
      }
      out += cat(" ", assignment.node, "[", join(shares, ","), "]");
    }
    out += "\n";
  }
  for (const sched::Eviction& eviction : plan.evictions)
    out += cat(eviction.task, " gives way to ", eviction.beneficiary, "\n");
  for (const sched::Wait& wait : all_waits(plan, state.planner.queue))
    out += cat(state.jobs.at(wait.request->job).metadata.name, " ", *wait.message, "\n");
  apply_plan(state, plan, now);
  return out;
}

void Cluster::started(const std::string& job, int64_t index) {
  const api::Task& which = task(job, index);
  run(TaskStarted{which.id, which.attempt});
}

void Cluster::exited(const std::string& job, int64_t exit_code, int64_t index) {
  const api::Task& which = task(job, index);
  TaskExited exit{which.id, which.attempt, exit_code};
  run(exit);
}

void Cluster::start_failed(const std::string& job, api::Reason reason, const std::string& message) {
  const api::Task& which = task(job);
  run(TaskStartFailed{which.id, which.attempt, reason, message});
}

void Cluster::advance(Millis by) {
  now = now + by;
  run(Tick{});
}

const api::Task& Cluster::task(const std::string& job, int64_t index) const {
  return state.tasks.at(task_id(get(job), index));
}

std::string Cluster::phase(const std::string& job) const {
  const api::JobStatus& status = get(job).status;
  std::string reason(enum_names(status.reason)[static_cast<size_t>(status.reason)]);
  return cat(enum_names(status.phase)[static_cast<size_t>(status.phase)], reason.empty() ? "" : " ",
             reason);
}

std::string Cluster::effects() {
  std::vector<std::string> out;
  for (const Effect& effect : state.changes.effects)
    out.push_back(cat(lower(enum_names(effect.what)[static_cast<size_t>(effect.what)]), " ",
                      effect.task, "#", effect.attempt));
  state.changes.effects.clear();
  return join(out, ", ");
}

}  // namespace tessera::core::testing
