#include "final_checks.h"

#include <algorithm>

#include "base/text.h"
#include "core/sched/board.h"
#include "core/snapshot.h"
#include "server/encode.h"

namespace tessera::simulation {

namespace {

using Notes = std::vector<std::string>;
using api::Phase, api::Reason;

std::string_view name_of(Phase phase) {
  return enum_names(phase)[static_cast<size_t>(phase)];
}

// --- What waits has a reason --------------------------------------------------------------------

int64_t at_once(const sched::Request& request) {
  return request.gang ? static_cast<int64_t>(request.tasks.size()) : 1;
}

// Whether the request's tasks fit on the empty node; found by counting, unlike the planner does.
// nullopt: it depends on which devices are taken.
std::optional<bool> could_run(const sched::NodeView& node, const sched::Request& request) {
  sched::Board board{sched::Cluster(std::span(&node, 1))};
  sched::Ask ask = sched::make_ask(board.cluster(), request.demand, request.project);
  std::optional<sched::Delta> one = board.best_by_scan(ask, sched::Placement::kPack);
  if (!one) return false;
  int64_t tasks = at_once(request);
  int64_t places = 0;
  for (const sched::Device& device : node.devices) {
    if (!device.healthy || !sched::matches(device, request.demand)) continue;
    sched::Share share = sched::share_of(device.memory, request.demand);
    int64_t fit_here = 1;
    if (!share.exclusive)
      fit_here = std::min(device.memory.value / std::max<int64_t>(1, share.memory.value),
                          100 / share.compute.value);
    places += std::min(fit_here, tasks);
  }
  if (places < tasks * request.demand.devices) return false;
  const sched::Demand& demand = request.demand;
  bool same_on_each = (demand.cpus && demand.memory) || !demand.sliced();
  if (tasks > 1 && !same_on_each) return std::nullopt;
  return one->cpus * tasks <= node.cpus && one->memory * tasks <= node.memory;
}

bool over_quota(const sched::Request& request, const sched::ProjectView& project) {
  if (!project.max) return false;
  const sched::Demand& demand = request.demand;
  int64_t each = demand.fraction ? demand.fraction->value : 1000 * demand.devices;
  return each > 0 && each * at_once(request) > project.max->value;
}

void check_waiting(const Scene& scene, Notes& notes) {
  sched::Snapshot snapshot = core::make_snapshot(scene.state, scene.world.now());
  for (const sched::RequestPtr& queued : snapshot.queue) {
    const sched::Request& request = *queued;
    server::EntryPtr entry = scene.view.find(std::string(core::kJobKind), request.job);
    std::string why = entry ? entry->tree().text("status", "waiting", "message") : "";
    if (why.empty()) notes.push_back(cat(request.job, " waits without a reason"));
    if (!request.blocked.empty()) {
      if (why != request.blocked)
        notes.push_back(cat(request.job, " ", request.blocked, ", but ", quoted(why)));
      continue;
    }
    if (over_quota(request, snapshot.projects.at(request.project))) {
      if (why.find("may hold") == why.npos)
        notes.push_back(cat(request.job, " is over its quota, but ", quoted(why)));
      continue;
    }
    const sched::NodeView& node = snapshot.nodes.at(0);
    if (!node.open) {
      if (why.find(node.closed_reason) == why.npos)
        notes.push_back(cat(request.job, " waits for a closed node, but ", quoted(why)));
      continue;
    }
    if (could_run(node, request) == true)
      notes.push_back(cat(request.job, " could run, but ", quoted(why)));
  }
}

// --- What is over ended as it says --------------------------------------------------------------

bool succeeded(const engine::Observation* end) {
  return end && end->what == engine::Observation::What::kExited && end->exit_code == 0;
}

void check_success(const Scene& scene, const api::JobSpec& wished, const api::Task& task,
                   Notes& notes) {
  if (wished.restartPolicy == api::RestartPolicy::kAlways)
    notes.push_back(cat(task.id, " has ended, but was to run for ever"));
  // One of a gang that was stopped, or one that was sent back to the queue, may exit with 0 and run
  // again. And a machine that loses power may forget a success that the server had no time to write
  // down.
  if (wished.replicas > 1 || task.requeues > 0 || scene.containers_were_lost) return;
  for (int64_t earlier = 1; earlier < task.attempt; ++earlier)
    if (succeeded(scene.history.end_of({task.id, earlier})))
      notes.push_back(cat(task.id, " ran again after attempt ", earlier, " had succeeded"));
}

// `wished` is what the user asked for: that the server still knows it is not taken for granted.
void check_failure(const api::Job& job, const api::JobSpec& wished, const api::Task& task,
                   Notes& notes) {
  bool by_itself = task.reason != Reason::kMaxRuntime && task.reason != Reason::kGangMember;
  if (!by_itself || wished.replicas > 1 || job.metadata.deletionTimestamp) return;
  bool lost = task.reason == Reason::kLost;
  bool never_ran = task.reason == Reason::kStartFailed || task.reason == Reason::kImagePull ||
                   task.reason == Reason::kAcceleratorFault;
  if (lost && wished.requeue) notes.push_back(cat(task.id, " was lost and not requeued"));
  if (wished.restartPolicy != api::RestartPolicy::kNever) {
    if (!never_ran) notes.push_back(cat(task.id, " failed and was not started again"));
    return;
  }
  if (task.failures <= job.spec.retries) notes.push_back(cat(task.id, " failed with retries left"));
}

void check_task(const Scene& scene, const api::Job& job, const api::Task& task, Notes& notes) {
  if (!api::is_terminal(task.phase) && task.phase != Phase::kQueued)
    notes.push_back(cat(task.id, " is still ", name_of(task.phase), ": ", task.message));
  const Submission* submission = scene.ledger.find(job.metadata.uid);
  const api::JobSpec& wished = submission ? submission->job.spec : job.spec;
  if (task.phase == Phase::kSucceeded) check_success(scene, wished, task, notes);
  if (task.phase == Phase::kFailed) check_failure(job, wished, task, notes);
  bool in_vain = task.reason == Reason::kDependencyNeverSatisfied;
  if (in_vain && std::ranges::none_of(job.status.dependencies, [](const auto& entry) {
        return entry.state == api::DependencyState::kNever;
      }))
    notes.push_back(cat(task.id, " gave up on a dependency that may still come true"));
  if (task.phase == Phase::kCancelled && submission && !submission->stop_asked && !in_vain)
    notes.push_back(cat(task.id, " was cancelled, but no one asked for it"));
}

// Everything is over, so each dependency is decided, and the other job ended as was decided.
void check_dependencies(const Scene& scene, const api::Job& job, Notes& notes) {
  for (size_t i = 0; i < job.status.dependencies.size(); ++i) {
    const api::DependencyStatus& entry = job.status.dependencies[i];
    const api::Dependency& wanted = job.spec.dependsOn[i];
    auto other = scene.state.jobs.find(core::object_key(job.metadata.project, entry.job));
    bool there = other != scene.state.jobs.end() && other->second.metadata.uid == entry.uid;
    if (!there) {
      if (entry.state == api::DependencyState::kWaiting && !api::is_terminal(job.status.phase))
        notes.push_back(cat(job.metadata.name, " waits for a job that is gone"));
      continue;
    }
    Phase end = other->second.status.phase;
    if (wanted.index) end = scene.state.tasks.at(core::task_id(other->second, *wanted.index)).phase;
    using Condition = api::DependencyCondition;
    bool succeeded = end == Phase::kSucceeded, over = api::is_terminal(end);
    bool strict =
        wanted.condition == Condition::kAfterOk || wanted.condition == Condition::kAfterNotOk;
    bool wants_success = wanted.condition == Condition::kAfterOk;
    bool right = true;
    if (over && entry.state == api::DependencyState::kFulfilled)
      right = !strict || succeeded == wants_success;
    if (over && entry.state == api::DependencyState::kNever)
      right = strict && succeeded != wants_success;
    if (over && entry.state == api::DependencyState::kWaiting)
      right = api::is_terminal(job.status.phase);
    if (!right) notes.push_back(cat(job.metadata.name, " misjudged how ", entry.job, " ended"));
  }
}

// --- Nothing is left ----------------------------------------------------------------------------

void check_leftovers(const Scene& scene, Notes& notes) {
  for (const engine::Running& container : scene.world.containers())
    notes.push_back(cat("a container of ", container.ref.task, "#", container.ref.attempt,
                        " is left in the engine"));
  for (const auto& [device, holders] : scene.world.holders())
    notes.push_back(cat("device ", device, " is still held"));
  for (const auto& [id, effect] : scene.state.outbox)
    notes.push_back(cat("effect ", id, " on ", effect.task, " is still in the outbox"));
  for (const auto& [ref, times] : scene.world.starts()) {
    if (times > 1 && !scene.containers_were_lost)
      notes.push_back(cat(ref.task, "#", ref.attempt, " was started ", times, " times"));
    bool wanted = scene.state.tasks.contains(ref.task);
    Status log = scene.engine.read_log({.ref = ref, .tail = {}, .since = {}},
                                       [](int, std::string_view) { return true; });
    if (log.ok() != wanted)
      notes.push_back(cat("the log of ", ref.task, "#", ref.attempt,
                          wanted ? " is gone" : " is left although its job is gone"));
  }
}

// --- Readers see what is ------------------------------------------------------------------------

template <class Object>
void check_view(const Scene& scene, std::string_view kind,
                const std::map<std::string, Object>& objects, Notes& notes) {
  std::set<std::string> seen;
  for (const server::EntryPtr& entry : scene.view.list(std::string(kind), {}).entries) {
    seen.insert(entry->key);
    auto object = objects.find(entry->key);
    if (object == objects.end()) {
      notes.push_back(cat("readers see ", kind, " ", entry->key, ", which does not exist"));
      continue;
    }
    Object shown = object->second;
    if constexpr (requires { shown.status.waiting; }) {
      std::string why = entry->tree().text("status", "waiting", "message");
      if (!why.empty()) shown.status.waiting = api::Waiting{why};
    }
    if constexpr (requires { shown.data; })
      for (auto& [key, value] : shown.data) value.clear();
    if (server::full_tree(shown) != entry->tree())
      notes.push_back(cat("readers see an old state of ", kind, " ", entry->key));
  }
  for (const auto& [key, object] : objects)
    if (!seen.contains(key)) notes.push_back(cat("readers do not see ", kind, " ", key));
}

template <class Map>
void compare_objects(std::string_view kind, const Map& before, const Map& loaded, Notes& notes) {
  for (const auto& [key, object] : before) {
    auto found = loaded.find(key);
    if (found == loaded.end())
      notes.push_back(cat(kind, " ", key, " is not in the store"));
    else if (found->second != object)
      notes.push_back(cat(kind, " ", key, " is not in the store as it was"));
  }
  for (const auto& [key, object] : loaded)
    if (!before.contains(key)) notes.push_back(cat(kind, " ", key, " is still in the store"));
}

}  // namespace

std::vector<std::string> check_at_rest(const Scene& scene) {
  Notes notes;
  for (const auto& [id, task] : scene.state.tasks)
    check_task(scene, scene.state.jobs.at(core::object_key(task.project, task.job)), task, notes);
  for (const auto& [key, job] : scene.state.jobs) check_dependencies(scene, job, notes);
  check_leftovers(scene, notes);
  if (scene.state.holding.empty()) check_waiting(scene, notes);
  check_view(scene, core::kJobKind, scene.state.jobs, notes);
  check_view(scene, core::kTaskKind, scene.state.tasks, notes);
  check_view(scene, core::kProjectKind, scene.state.projects, notes);
  check_view(scene, core::kSecretKind, scene.state.secrets, notes);
  check_view(scene, core::kNodeKind, scene.state.nodes, notes);
  check_view(scene, core::kAcceleratorKind, scene.state.accelerators, notes);
  return notes;
}

std::vector<std::string> check_told(const core::State& state, const History& history) {
  Notes notes;
  for (const auto& [id, task] : state.tasks) {
    if (task.health != api::ContainerHealth::kNone &&
        !history.was_ever({id, task.attempt}, task.health))
      notes.push_back(cat(id, "#", task.attempt, " has a health that nobody has told"));
    if (api::holds_devices(task.phase)) continue;
    const engine::Observation* end = history.end_of({id, task.attempt});
    bool told = true;
    if (task.reason == Reason::kCompleted) told = succeeded(end);
    if (task.reason == Reason::kExitCode || task.reason == Reason::kSignal)
      told = end && end->exit_code == task.exitCode;
    if (task.reason == Reason::kOomKilled) told = end && end->oom_killed;
    if (!told)
      notes.push_back(cat(id, "#", task.attempt, " is over (", task.message,
                          "), but the engine did not say so"));
  }
  return notes;
}

std::vector<std::string> check_wishes(const core::State& state, const Ledger& ledger) {
  Notes notes;
  std::map<std::string, int64_t> held;  // tasks that hold something, by job
  for (const std::string& id : state.holding) {
    const api::Task& task = state.tasks.at(id);
    ++held[core::object_key(task.project, task.job)];
  }
  std::set<std::pair<std::string, std::string>> singletons;
  for (const auto& [key, count] : held) {
    const api::Metadata& metadata = state.jobs.at(key).metadata;
    const Submission* submission = ledger.find(metadata.uid);
    if (!submission) continue;
    const api::JobSpec& wished = submission->job.spec;
    if (wished.array && wished.array->parallel && count > *wished.array->parallel)
      notes.push_back(cat(key, " runs ", count, " tasks at a time, which is more than it asked"));
    if (!wished.singleton.empty() && !singletons.emplace(metadata.project, wished.singleton).second)
      notes.push_back(cat(key, " runs beside another ", wished.singleton));
  }
  return notes;
}

std::vector<std::string> compare(const core::State& before, const core::State& loaded) {
  Notes notes;
  compare_objects("Job", before.jobs, loaded.jobs, notes);
  compare_objects("Task", before.tasks, loaded.tasks, notes);
  compare_objects("Project", before.projects, loaded.projects, notes);
  compare_objects("Secret", before.secrets, loaded.secrets, notes);
  compare_objects("Node", before.nodes, loaded.nodes, notes);
  compare_objects("Accelerator", before.accelerators, loaded.accelerators, notes);
  compare_objects("effect", before.outbox, loaded.outbox, notes);
  const sched::Queue::Order &was = before.planner.queue.all(), &is = loaded.planner.queue.all();
  if (!std::equal(was.begin(), was.end(), is.begin(), is.end(),
                  [](const auto& one, const auto& other) {
                    return one.first == other.first && *one.second == *other.second;
                  }))
    notes.push_back("the queue is another after the restart");
  if (before.holding != loaded.holding)
    notes.push_back("the index of holders is another after the restart");
  if (before.dependents != loaded.dependents || before.singletons != loaded.singletons)
    notes.push_back("who waits for whom is another after the restart");
  if (before.meters != loaded.meters) notes.push_back("the meters are others after the restart");
  if (core::next_deadline(before) != core::next_deadline(loaded))
    notes.push_back("the next deadline is another after the restart");
  return notes;
}

}  // namespace tessera::simulation
