#include "core/state.h"

#include <algorithm>

#include "base/text.h"
#include "core/dependencies.h"
#include "core/snapshot.h"
#include "core/status.h"

namespace tessera::core {

std::string object_key(std::string_view project, std::string_view name) {
  return project.empty() ? std::string(name) : cat(project, "/", name);
}

std::string task_id(const api::Job& job, int64_t index) {
  return cat(job.metadata.uid, "-", index);
}

void Timers::set(const std::string& key, std::optional<Instant> at) {
  auto known = at_.find(key);
  if (known != at_.end()) {
    if (at == known->second) return;
    order_.erase({known->second, key});
    at_.erase(known);
  }
  if (!at) return;
  at_.emplace(key, *at);
  order_.emplace(*at, key);
}

std::optional<Instant> Timers::next() const {
  if (order_.empty()) return std::nullopt;
  return order_.begin()->first;
}

std::vector<std::string> Timers::due(Instant now) const {
  std::vector<std::string> keys;
  for (const auto& [at, key] : order_) {
    if (at > now) break;
    keys.push_back(key);
  }
  return keys;
}

namespace {

template <class Object>
void touch_object(State& state, Object& object, std::string_view kind) {
  object.metadata.resourceVersion = ++state.version;
  state.changes.touched[kind].insert(object_key(object.metadata.project, object.metadata.name));
  state.plan_needed = true;
}

// The point in time at which something is to be done about the task although nothing happens.
std::optional<Instant> deadline_of(const api::Task& task) {
  if (task.phase == Phase::kRunning)
    return task.stopAt && task.warnAt ? std::min(task.stopAt, task.warnAt) : task.stopAt;
  if (task.phase == Phase::kQueued) return task.notBefore;
  return std::nullopt;
}

bool is_gang(const api::JobSpec& spec) {
  return !spec.array && spec.replicas > 1;
}

int64_t members_over(const State& state, const api::Job& job) {
  std::vector<const api::Task*> tasks = tasks_of(state, job);
  return std::ranges::count_if(tasks,
                               [](const api::Task* t) { return api::is_terminal(t->phase); });
}

// A gang of which a member is over cannot run again as a whole.
bool may_give_way(const State& state, const api::Job& job) {
  return job.spec.requeue && !(is_gang(job.spec) && members_over(state, job) > 0);
}

void hold(State& state, const api::Task& task) {
  const api::Job& job = state.jobs.at(object_key(task.project, task.job));
  state.holding.insert(task.id);
  state.planner.hold({.assignment = {task.id, task.node, task.allocations, task.cpus, task.memory},
                      .job = object_key(task.project, task.job),
                      .project = task.project,
                      .charge = sched::charge_of(sched::demand_of(job.spec.resources)),
                      .end = task.stopAt,
                      .limit = job.spec.maxRuntime,
                      .priority = job.spec.priority,
                      .gang = !job.spec.array,
                      .preemptible = may_give_way(state, job),
                      .stopping = task.phase == Phase::kStopping,
                      .grace = job.spec.stopGrace,
                      .since = task.startTime});
}

void let_go(State& state, const std::string& task) {
  state.holding.erase(task);
  state.planner.release(task);
}

void index_task(State& state, const api::Task& task) {
  if (api::holds_devices(task.phase))
    hold(state, task);
  else
    let_go(state, task.id);
  state.task_timers.set(task.id, deadline_of(task));
}

void delay_until(sched::Request& request, const api::Task& task) {
  request.not_before = task.notBefore;
  request.failed_before = task.failures + task.requeues > 0;
}

// All of a gang, once each of them can start.
void add_gang(sched::Request& request, const std::vector<const api::Task*>& tasks) {
  for (const api::Task* task : tasks) {
    if (task->phase != Phase::kQueued) request.ready = false;
    request.tasks.push_back(task->id);
    if (task->notBefore && (!request.not_before || *task->notBefore > *request.not_before))
      delay_until(request, *task);
  }
}

// Those tasks of an array that can start; when there are none yet, the time of the first.
void add_array(sched::Request& request, const api::JobArray& array,
               const std::vector<const api::Task*>& tasks) {
  request.gang = false;
  int64_t holding = 0;
  for (const api::Task* task : tasks) {
    if (api::holds_devices(task->phase)) ++holding;
    if (task->phase != Phase::kQueued) continue;
    if (!task->notBefore)
      request.tasks.push_back(task->id);
    else if (!request.not_before || *task->notBefore < *request.not_before)
      delay_until(request, *task);
  }
  if (!request.tasks.empty()) request.not_before.reset();
  request.parallel = array.parallel;
  if (array.parallel) request.slots = std::max<int64_t>(0, *array.parallel - holding);
}

sched::RequestPtr request_of(const State& state, const std::string& key, const api::Job& job,
                             const std::vector<const api::Task*>& tasks) {
  auto request = std::make_shared<sched::Request>();
  request->job = key;
  request->project = job.metadata.project;
  request->demand = sched::demand_of(job.spec.resources);
  request->blocked = why_blocked(state, job);
  request->priority = job.spec.priority;
  request->limit = job.spec.maxRuntime;
  if (job.spec.array)
    add_array(*request, *job.spec.array, tasks);
  else
    add_gang(*request, tasks);
  return request;
}

void index_job(State& state, const std::string& key, const api::Job& job);

// Keeps the line that the job's spec.singleton stands for; who comes to its front may run now.
void index_singleton(State& state, const std::string& key, const api::Job& job) {
  if (job.spec.singleton.empty()) return;
  std::pair<std::string, std::string> word(job.metadata.project, job.spec.singleton);
  auto& line = state.singletons[word];
  if (!api::is_terminal(job.status.phase)) {
    line.emplace(job.status.number, key);
    return;
  }
  bool was_first = !line.empty() && line.begin()->first == job.status.number;
  line.erase(job.status.number);
  if (line.empty()) {
    state.singletons.erase(word);
    return;
  }
  std::string next = line.begin()->second;
  if (was_first) index_job(state, next, state.jobs.at(next));
}

void index_job(State& state, const std::string& key, const api::Job& job) {
  index_singleton(state, key, job);
  // Of those that are over, which may be very many, no task waits.
  std::vector<const api::Task*> tasks;
  if (!api::is_terminal(job.status.phase)) tasks = tasks_of(std::as_const(state), job);
  bool queued =
      std::ranges::any_of(tasks, [](const api::Task* t) { return t->phase == Phase::kQueued; });
  if (queued) {
    state.planner.queue.put({-job.spec.priority, tasks[0]->submission, key},
                            request_of(state, key, job, tasks));
  } else {
    state.planner.queue.erase(key);
  }
  std::optional<Instant> removal;
  if (api::is_terminal(job.status.phase) && job.spec.removeAfter && job.status.endTime)
    removal = *job.status.endTime + *job.spec.removeAfter;
  state.job_timers.set(key, removal);
}

}  // namespace

void touch(State& state, api::Job& job) {
  touch_object(state, job, kJobKind);
  index_job(state, object_key(job.metadata.project, job.metadata.name), job);
}

void touch(State& state, api::Task& task) {
  state.changes.touched[kTaskKind].insert(task.id);
  state.plan_needed = true;
  index_task(state, task);
  auto job = state.jobs.find(object_key(task.project, task.job));
  CHECK(job != state.jobs.end());
  // The first that is over changes what may be done with the others.
  if (is_gang(job->second.spec) && api::is_terminal(task.phase) &&
      members_over(state, job->second) == 1)
    for (const api::Task* other : tasks_of(std::as_const(state), job->second))
      index_task(state, *other);
  bool was_over = api::is_terminal(job->second.status.phase);
  refresh_status(state, job->second);
  Phase phase = job->second.status.phase;
  if (!was_over && api::is_terminal(phase))
    state.meters.job_ended(account_of(job->second), phase == Phase::kFailed);
  if (state.dependents.contains(job->second.metadata.uid)) state.awaited.insert(job->first);
  touch(state, job->second);
}

void touch(State& state, api::Project& project) {
  state.planner.set_project(project.metadata.name, project.spec.quota.max);
  touch_object(state, project, kProjectKind);
}
void touch(State& state, api::Secret& secret) {
  touch_object(state, secret, kSecretKind);
}
void touch(State& state, api::Node& node) {
  state.stale_nodes.insert(node.metadata.name);
  touch_object(state, node, kNodeKind);
}
void touch(State& state, api::Accelerator& accelerator) {
  state.stale_nodes.insert(accelerator.status.node);
  touch_object(state, accelerator, kAcceleratorKind);
}
void touch(State& state, api::User& user) {
  touch_object(state, user, kUserKind);
}
void touch(State& state, api::Token& token) {
  touch_object(state, token, kTokenKind);
}

void erase_job(State& state, const std::string& key) {
  api::Job& job = state.jobs.at(key);
  forget_dependencies(state, key, job);
  for (int64_t index : api::task_indices(job.spec)) {
    std::string id = task_id(job, index);
    state.task_timers.set(id, std::nullopt);
    let_go(state, id);
    erase(state, state.tasks, kTaskKind, id);
    emit_effect(state, {.what = Effect::What::kRemoveLogs, .task = id});
  }
  state.planner.queue.erase(key);
  state.job_timers.set(key, std::nullopt);
  erase(state, state.jobs, kJobKind, key);
  state.plan_needed = true;
}

void move(State& state, api::Task& task, TaskEvent event, std::string_view signal,
          std::optional<Millis> grace) {
  std::optional<Move> found = find_move(task.phase, event);
  CHECK(found.has_value());
  const api::Job& job = state.jobs.at(object_key(task.project, task.job));
  task.phase = found->to;
  Effect effect{.task = task.id, .attempt = task.attempt};
  switch (found->follow) {
    case Follow::kNothing:
      break;
    case Follow::kEnsure:
      effect.what = Effect::What::kEnsure;
      state.meters.hold(account_of(job), holding_of(job, task));
      break;
    case Follow::kStop:
      emit_stop(state, job, task, signal, grace);
      break;
    case Follow::kRemove:
      effect.what = Effect::What::kRemove;
      state.meters.release(account_of(job), holding_of(job, task));
      task.allocations.clear();
      task.cpus = {};
      task.memory = {};
      task.stopIntent = api::StopIntent::kNone;
      task.health = api::ContainerHealth::kNone;
      task.ports.clear();
      break;
  }
  if (found->follow == Follow::kEnsure || found->follow == Follow::kRemove)
    emit_effect(state, effect);
  touch(state, task);
}

void emit_stop(State& state, const api::Job& job, const api::Task& task, std::string_view signal,
               std::optional<Millis> grace) {
  emit_effect(state, {.what = Effect::What::kStop,
                      .task = task.id,
                      .attempt = task.attempt,
                      .signal = signal.empty() ? job.spec.stopSignal : std::string(signal),
                      .grace = grace.value_or(job.spec.stopGrace)});
}

void emit_effect(State& state, Effect effect) {
  effect.id = ++state.last_effect;
  state.outbox.emplace(effect.id, effect);
  state.changes.effects.push_back(std::move(effect));
}

void emit_event(State& state, std::string_view kind, const api::Metadata& about, bool warning,
                std::string_view reason, std::string message, Instant now) {
  api::Event event;
  // Padded, so that the order of names is the order of time.
  event.metadata.name = cat("event-", cat(1'000'000'000'000 + ++state.last_event).substr(1));
  event.metadata.project = about.project;
  event.metadata.resourceVersion = ++state.version;
  event.metadata.creationTimestamp = now;
  event.about = {std::string(kind), about.name, about.uid};
  event.warning = warning;
  event.reason = std::string(reason);
  event.message = std::move(message);
  event.time = now;
  state.changes.events.push_back(std::move(event));
}

std::vector<api::Task*> tasks_of(State& state, const api::Job& job) {
  std::vector<api::Task*> out;
  for (int64_t index : api::task_indices(job.spec))
    out.push_back(&state.tasks.at(task_id(job, index)));
  return out;
}

std::vector<const api::Task*> tasks_of(const State& state, const api::Job& job) {
  std::vector<const api::Task*> out;
  for (int64_t index : api::task_indices(job.spec))
    out.push_back(&state.tasks.at(task_id(job, index)));
  return out;
}

std::optional<Instant> next_deadline(const State& state) {
  std::optional<Instant> task = state.task_timers.next(), job = state.job_timers.next();
  if (!task || !job) return task ? task : job;
  return std::min(*task, *job);
}

void rebuild(State& state) {
  state.planner = {};
  state.holding.clear();
  state.dependents.clear();
  state.singletons.clear();
  state.awaited.clear();
  state.task_timers = {};
  state.job_timers = {};
  state.meters = {};
  for (const auto& [name, project] : state.projects)
    state.planner.set_project(name, project.spec.quota.max);
  for (const auto& [name, node] : state.nodes) state.stale_nodes.insert(name);
  refresh_planner(state);
  for (const auto& [id, task] : state.tasks) index_task(state, task);
  for (const std::string& id : state.holding) {
    const api::Task& task = state.tasks.at(id);
    const api::Job& job = state.jobs.at(object_key(task.project, task.job));
    state.meters.restore(account_of(job), holding_of(job, task));
  }
  for (const auto& [key, job] : state.jobs) index_singleton(state, key, job);
  for (const auto& [key, job] : state.jobs) {
    await_dependencies(state, key, job);
    index_job(state, key, job);
    note_arrival(state, job);
  }
  state.changes = {};
  state.plan_needed = true;
}

}  // namespace tessera::core
