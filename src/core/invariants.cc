#include "core/invariants.h"

#include "base/text.h"

namespace tessera::core {

namespace {

struct Use {
  std::vector<std::string> exclusive;  // tasks
  int64_t sharers = 0;
  std::set<std::string> projects;
  MiB memory;
  Percent compute;
};

using Notes = std::vector<std::string>;

void check_devices(const State& state, Notes& notes) {
  std::map<std::string, Use> use;
  for (const auto& [id, task] : state.tasks) {
    if (!api::holds_devices(task.phase)) continue;
    for (const api::Allocation& share : task.allocations) {
      Use& at = use[share.accelerator];
      if (share.exclusive) {
        at.exclusive.push_back(id);
      } else {
        ++at.sharers;
        at.projects.insert(task.project);
        at.memory += share.memory;
        at.compute += share.compute;
      }
    }
  }
  for (const auto& [uuid, at] : use) {
    if (at.exclusive.size() > 1)
      notes.push_back(cat(uuid, " is held whole by ", join(at.exclusive, " and ")));
    if (!at.exclusive.empty() && at.sharers > 0)
      notes.push_back(cat(uuid, " is held whole and in slices"));
    if (at.projects.size() > 1) notes.push_back(cat(uuid, " has slices of more than one project"));
    if (at.compute > Percent{100})
      notes.push_back(cat(uuid, " has ", at.compute.value, " % of its compute given away"));
    auto device = state.accelerators.find(uuid);
    if (device == state.accelerators.end())
      notes.push_back(cat(uuid, " is held but unknown"));
    else if (at.sharers > 0 && at.memory > device->second.status.memory)
      notes.push_back(cat(uuid, " has ", at.memory.value, " MiB given away of ",
                          device->second.status.memory.value));
  }
}

void check_nodes(const State& state, Notes& notes) {
  std::map<std::string, std::pair<MilliCpu, MiB>> held;
  for (const auto& [id, task] : state.tasks) {
    if (!api::holds_devices(task.phase)) continue;
    held[task.node].first += task.cpus;
    held[task.node].second += task.memory;
  }
  for (const auto& [name, sums] : held) {
    auto node = state.nodes.find(name);
    if (node == state.nodes.end()) {
      notes.push_back(cat("tasks hold the unknown node ", name));
      continue;
    }
    if (sums.first > node->second.status.cpus)
      notes.push_back(cat(name, " has more CPU given away than it has"));
    if (sums.second > node->second.status.memory)
      notes.push_back(cat(name, " has more memory given away than it has"));
  }
}

void check_task(const api::Task& task, Notes& notes) {
  bool holds = api::holds_devices(task.phase);
  if (holds && (task.node.empty() || task.attempt == 0))
    notes.push_back(cat(task.id, " holds devices without a place"));
  if (!holds && !task.allocations.empty())
    notes.push_back(cat(task.id, " is over or waits but holds devices"));
  if ((task.phase == Phase::kStopping) != (task.stopIntent != api::StopIntent::kNone))
    notes.push_back(cat(task.id, " has a stop intent that does not fit its phase"));
  if (api::is_terminal(task.phase) && task.reason == api::Reason::kNone)
    notes.push_back(cat(task.id, " is over without a reason"));
}

// Whoever waits for another holds nothing, and the indexes know of it.
void check_waits(const State& state, const std::string& key, const api::Job& job, bool holds,
                 Notes& notes) {
  if (job.status.dependencies.size() != job.spec.dependsOn.size())
    notes.push_back(cat(key, " has lost sight of a job that it depends on"));
  for (const api::DependencyStatus& entry : job.status.dependencies) {
    if (entry.state != api::DependencyState::kWaiting) continue;
    if (holds) notes.push_back(cat(key, " runs, but job ", entry.job, " has not come so far"));
    auto known = state.dependents.find(entry.uid);
    if (known == state.dependents.end() || !known->second.contains(key))
      notes.push_back(cat(key, " and the index of dependents do not agree"));
  }
  if (job.spec.singleton.empty() || api::is_terminal(job.status.phase)) return;
  auto line = state.singletons.find({job.metadata.project, job.spec.singleton});
  bool known = line != state.singletons.end() && line->second.contains(job.status.number);
  if (!known) notes.push_back(cat(key, " and the line of its singleton do not agree"));
  if (known && holds && line->second.begin()->second != key)
    notes.push_back(cat(key, " runs beside another of its singleton"));
}

void check_job(const State& state, const std::string& key, const api::Job& job, Notes& notes) {
  bool queued = false, active = false;
  int64_t holding = 0;
  for (int64_t index : api::task_indices(job.spec)) {
    auto task = state.tasks.find(task_id(job, index));
    if (task == state.tasks.end()) {
      notes.push_back(cat(key, " lacks its task ", index));
      return;
    }
    queued = queued || task->second.phase == Phase::kQueued;
    active =
        active || task->second.phase == Phase::kStarting || task->second.phase == Phase::kRunning;
    if (api::holds_devices(task->second.phase)) ++holding;
  }
  if (queued && active && !job.spec.array)
    notes.push_back(cat(key, " is a gang of which only a part was placed"));
  if (job.spec.array && job.spec.array->parallel && holding > *job.spec.array->parallel)
    notes.push_back(cat(key, " runs ", holding, " tasks, but at most ", *job.spec.array->parallel,
                        " are allowed at a time"));
  check_waits(state, key, job, holding > 0, notes);
  if (queued != state.planner.queue.contains(key))
    notes.push_back(cat(key, " and the queue do not agree"));
  if (!state.projects.contains(job.metadata.project))
    notes.push_back(cat(key, " is in a project that does not exist"));
}

void check_quotas(const State& state, Notes& notes) {
  std::map<std::string, int64_t> held;
  for (const auto& [id, task] : state.tasks) {
    if (!api::holds_devices(task.phase)) continue;
    const api::Job& job = state.jobs.at(object_key(task.project, task.job));
    int64_t whole = job.spec.resources.gpus.value_or(MilliGpu{1000}).value;
    held[task.project] +=
        static_cast<int64_t>(task.allocations.size()) * (whole < 1000 ? whole : 1000);
  }
  for (const auto& [name, project] : state.projects) {
    // A quota that was lowered later takes nothing away from what runs, so only a generation-1
    // quota is a promise that can be checked from the state alone.
    if (project.spec.quota.max && project.metadata.generation == 1 &&
        held[name] > project.spec.quota.max->value)
      notes.push_back(cat("project ", name, " holds more than its quota"));
  }
}

// What is counted is what is held.
void check_meters(const State& state, Notes& notes) {
  std::map<Account, Holding> held;
  for (const std::string& id : state.holding) {
    const api::Task& task = state.tasks.at(id);
    const api::Job& job = state.jobs.at(object_key(task.project, task.job));
    held[account_of(job)] += holding_of(job, task);
  }
  if (held != state.meters.holdings())
    notes.push_back("the meters of usage and what tasks hold do not agree");
}

}  // namespace

std::vector<std::string> check_invariants(const State& state) {
  Notes notes;
  check_devices(state, notes);
  check_nodes(state, notes);
  for (const auto& [id, task] : state.tasks) {
    check_task(task, notes);
    if (!state.jobs.contains(object_key(task.project, task.job)))
      notes.push_back(cat(id, " belongs to no job"));
    if (api::holds_devices(task.phase) != state.holding.contains(id))
      notes.push_back(cat(id, " and the index of holders do not agree"));
  }
  for (const auto& [key, job] : state.jobs) check_job(state, key, job, notes);
  check_quotas(state, notes);
  check_meters(state, notes);
  return notes;
}

}  // namespace tessera::core
