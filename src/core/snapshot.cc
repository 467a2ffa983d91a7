#include "core/snapshot.h"

#include <algorithm>

#include "base/text.h"
#include "core/step_internal.h"

namespace tessera::core {

namespace {

sched::NodeView node_view(const api::Node& node) {
  sched::NodeView view;
  view.name = node.metadata.name;
  view.open = node.status.ready && !node.spec.unschedulable;
  if (!node.status.ready)
    view.closed_reason = cat("is not ready: ", node.status.message);
  else if (node.spec.unschedulable)
    view.closed_reason = "is cordoned";
  view.cpus = view.cpus_free = node.status.cpus;
  view.memory = view.memory_free = node.status.memory;
  return view;
}

// The nodes with these names, by name; those that do not exist are left out.
std::vector<sched::NodeView> node_views(const State& state, const std::set<std::string>& names) {
  std::map<std::string_view, sched::NodeView> views;
  for (const std::string& name : names)
    if (auto node = state.nodes.find(name); node != state.nodes.end())
      views.emplace(node->first, node_view(node->second));
  for (const auto& [uuid, device] : state.accelerators) {
    auto node = views.find(device.status.node);
    if (node == views.end()) continue;
    node->second.devices.push_back({.uuid = uuid,
                                    .index = device.status.index,
                                    .vendor = device.status.vendor,
                                    .model = device.status.model,
                                    .memory = device.status.memory,
                                    .healthy = device.status.health == api::Health::kHealthy});
  }
  std::vector<sched::NodeView> out;
  for (auto& [name, view] : views) {
    std::ranges::sort(view.devices, {}, [](const sched::Device& device) {
      return std::pair(device.index, std::string_view(device.uuid));
    });
    out.push_back(std::move(view));
  }
  return out;
}

}  // namespace

sched::Snapshot make_snapshot(const State& state, Instant now) {
  return state.planner.snapshot(now);
}

void refresh_planner(State& state) {
  if (state.stale_nodes.empty()) return;
  bool known = std::ranges::all_of(
      node_views(state, state.stale_nodes),
      [&](const sched::NodeView& view) { return state.planner.replace_node(view); });
  if (!known) {
    for (const auto& [name, node] : state.nodes) state.stale_nodes.insert(name);
    state.planner.set_nodes(node_views(state, state.stale_nodes));
  }
  state.stale_nodes.clear();
}

void note_arrival(State& state, const api::Job& job) {
  state.planner.arrived(sched::demand_of(job.spec.resources),
                        static_cast<int64_t>(api::task_indices(job.spec).size()));
}

namespace {

// Sent back to the queue: by its stop signal and with its grace, so that it can save its work.
void evict(State& state, const sched::Eviction& eviction, Instant now) {
  api::Task& task = state.tasks.at(eviction.task);
  const api::Job& job = state.jobs.at(eviction.job);
  std::string message = cat("gave way to job ", eviction.beneficiary, ", which has priority");
  emit_event(state, kJobKind, job.metadata, true, "Preempted",
             cat(task_words(job, task), " ", message), now);
  ++task.requeues;
  stop_task(state, job, task,
            {.intent = api::StopIntent::kRequeue,
             .reason = api::Reason::kPreempted,
             .message = std::move(message)},
            now);
}

}  // namespace

void apply_plan(State& state, const sched::LinePlan& plan, Instant now) {
  for (const sched::Eviction& eviction : plan.evictions) evict(state, eviction, now);
  for (const sched::Decision& decision : plan.decisions) {
    const api::Job& job = state.jobs.at(decision.job);
    std::set<std::string> nodes;
    for (const sched::Assignment& assignment : decision.tasks) {
      api::Task& task = state.tasks.at(assignment.task);
      ++task.attempt;
      task.node = assignment.node;
      task.allocations = assignment.allocations;
      task.cpus = assignment.cpus;
      task.memory = assignment.memory;
      task.reason = api::Reason::kNone;
      task.message.clear();
      task.exitCode.reset();
      task.notBefore.reset();
      task.startTime.reset();
      task.endTime.reset();
      nodes.insert(assignment.node);
      move(state, task, TaskEvent::kPlace);
    }
    std::vector<std::string> names(nodes.begin(), nodes.end());
    auto count = static_cast<int64_t>(decision.tasks.size());
    emit_event(
        state, kJobKind, job.metadata, false, "Placed",
        cat(job.spec.array ? cat(plural(count, "task"), " ") : "", "placed on ", join(names, ", ")),
        now);
  }
  state.meters.settle(now, state.changes.usage);
}

}  // namespace tessera::core
