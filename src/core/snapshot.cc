#include "core/snapshot.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::core {

namespace {

std::vector<sched::NodeView> node_views(const State& state) {
  std::vector<sched::NodeView> views;
  for (const auto& [name, node] : state.nodes) {
    sched::NodeView view;
    view.name = name;
    view.open = node.status.ready && !node.spec.unschedulable;
    if (!node.status.ready)
      view.closed_reason = cat("is not ready: ", node.status.message);
    else if (node.spec.unschedulable)
      view.closed_reason = "is cordoned";
    view.cpus = view.cpus_free = node.status.cpus;
    view.memory = view.memory_free = node.status.memory;
    views.push_back(std::move(view));
  }
  return views;
}

sched::NodeView* find_node(std::vector<sched::NodeView>& nodes, const std::string& name) {
  auto found = std::lower_bound(
      nodes.begin(), nodes.end(), name,
      [](const sched::NodeView& n, const std::string& key) { return n.name < key; });
  return found != nodes.end() && found->name == name ? &*found : nullptr;
}

void add_devices(const State& state, std::vector<sched::NodeView>& nodes) {
  for (const auto& [uuid, device] : state.accelerators) {
    sched::NodeView* node = find_node(nodes, device.status.node);
    if (!node) continue;
    node->devices.push_back({.uuid = uuid,
                             .index = device.status.index,
                             .vendor = device.status.vendor,
                             .model = device.status.model,
                             .memory = device.status.memory,
                             .healthy = device.status.health == api::Health::kHealthy});
  }
  for (sched::NodeView& node : nodes)
    std::sort(node.devices.begin(), node.devices.end(),
              [](const sched::Device& a, const sched::Device& b) {
                return std::pair(a.index, std::string_view(a.uuid)) <
                       std::pair(b.index, std::string_view(b.uuid));
              });
}

// Usage is always the sum of what tasks hold, never counted on its own.
void add_usage(const State& state, sched::Snapshot& snapshot) {
  for (const std::string& id : state.holding) {
    const api::Task& task = state.tasks.at(id);
    const api::Job& job = state.jobs.at(object_key(task.project, task.job));
    std::optional<MilliGpu> fraction = sched::demand_of(job.spec.resources).fraction;
    snapshot.projects[task.project].held += MilliGpu{static_cast<int64_t>(task.allocations.size()) *
                                                     (fraction ? fraction->value : 1000)};
    sched::NodeView* node = find_node(snapshot.nodes, task.node);
    if (!node) continue;
    node->cpus_free -= task.cpus;
    node->memory_free -= task.memory;
    for (const api::Allocation& share : task.allocations) {
      auto device =
          std::find_if(node->devices.begin(), node->devices.end(),
                       [&](const sched::Device& d) { return d.uuid == share.accelerator; });
      if (device == node->devices.end()) continue;
      if (share.exclusive) {
        device->exclusive = true;
      } else {
        device->memory_held += share.memory;
        device->compute_held += share.compute;
        device->project = task.project;
      }
    }
  }
}

}  // namespace

sched::Snapshot make_snapshot(const State& state, Instant now) {
  sched::Snapshot snapshot;
  snapshot.now = now;
  snapshot.nodes = node_views(state);
  add_devices(state, snapshot.nodes);
  for (const auto& [name, project] : state.projects)
    snapshot.projects[name].max = project.spec.quota.max;
  add_usage(state, snapshot);
  snapshot.queue.reserve(state.queue.size());
  for (const auto& [key, request] : state.queue) snapshot.queue.push_back(request);
  return snapshot;
}

void apply_plan(State& state, const sched::Plan& plan, Instant now) {
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
