// What users ask of jobs.

#include <algorithm>
#include <array>

#include "api/codec.h"
#include "api/validate.h"
#include "core/dependencies.h"
#include "core/snapshot.h"
#include "core/status.h"
#include "core/step_internal.h"

namespace tessera::core {

Status apply(State& state, const CreateJob& command, Instant now) {
  const api::Job& wanted = command.job;
  std::string key = object_key(wanted.metadata.project, wanted.metadata.name);
  if (!state.projects.contains(wanted.metadata.project))
    return error(Code::kNotFound, cat("there is no project ", quoted(wanted.metadata.project)),
                 "metadata.project", "'tessera get projects' lists them");
  const api::Privileges& allowed = state.projects.at(wanted.metadata.project).spec.privileges;
  TRY_STATUS(api::check_privileges(wanted, allowed));
  if (state.jobs.contains(key))
    return error(Code::kAlreadyExists, cat("there already is a job ", quoted(wanted.metadata.name)),
                 "metadata.name", "choose another name, or delete the old job first");
  if (static_cast<int64_t>(state.planner.queue.size() + state.holding.size()) >= kActiveJobLimit)
    return error(Code::kExhausted, cat("the queue is full: ", kActiveJobLimit, " jobs wait or run"),
                 {}, "try again when some have ended");

  api::Job job = wanted;
  TRY_STATUS(resolve_dependencies(state, job));
  job.metadata.creationTimestamp = now;
  job.metadata.generation = 1;
  // Each task of an array has a number of its own; the job's is the first one's.
  int64_t submission = state.submissions + 1;
  state.submissions +=
      job.spec.array ? static_cast<int64_t>(api::task_indices(job.spec).size()) : 1;
  api::Job& kept = state.jobs.emplace(key, std::move(job)).first->second;
  for (int64_t index : api::task_indices(kept.spec)) {
    api::Task task;
    task.id = task_id(kept, index);
    task.job = kept.metadata.name;
    task.project = kept.metadata.project;
    task.jobUid = kept.metadata.uid;
    task.index = index;
    task.submission = submission;
    if (kept.spec.startAfter && *kept.spec.startAfter > now) task.notBefore = kept.spec.startAfter;
    state.tasks.emplace(task.id, std::move(task));
  }
  for (api::Task* task : tasks_of(state, kept)) {
    state.changes.touched[kTaskKind].insert(task->id);
    state.task_timers.set(task->id, task->notBefore);
  }
  note_arrival(state, kept);
  refresh_status(state, kept);
  await_dependencies(state, key, kept);
  follow_dependencies(state, kept, now);
  return Ok;
}

namespace {

// Fields of a job's spec that may change once it is accepted; the rest is what its containers were
// made from.
constexpr std::array<std::string_view, 4> kMutable = {"priority", "retries", "maxRuntime",
                                                      "removeAfter"};

Status check_immutable(const api::JobSpec& before, const api::JobSpec& after) {
  Value old_tree = schema::encode(before), new_tree = schema::encode(after);
  for (const schema::FieldType& field : schema::describe<api::JobSpec>().fields) {
    if (std::find(kMutable.begin(), kMutable.end(), field.name) != kMutable.end()) continue;
    const Value* was = old_tree.find(field.name);
    const Value* is = new_tree.find(field.name);
    bool same = was && is ? *was == *is : was == is;
    if (!same)
      return error(Code::kInvalid, "cannot be changed once the job is accepted",
                   cat("spec.", field.name), "delete the job and submit it anew");
  }
  return Ok;
}

}  // namespace

Status apply(State& state, const ReplaceJob& command, Instant) {
  const api::Metadata& metadata = command.job.metadata;
  std::string key = object_key(metadata.project, metadata.name);
  TRY_STATUS(check_present(state.jobs, "job", key, metadata.resourceVersion));
  api::Job& job = state.jobs.at(key);
  TRY_STATUS(check_immutable(job.spec, command.job.spec));
  if (job.spec != command.job.spec) ++job.metadata.generation;
  bool end_moved = job.spec.maxRuntime != command.job.spec.maxRuntime;
  job.metadata.labels = metadata.labels;
  job.metadata.annotations = metadata.annotations;
  job.spec = command.job.spec;
  for (api::Task* task : tasks_of(state, job)) {
    if (task->phase != Phase::kRunning || !end_moved) continue;
    set_deadlines(job.spec, *task);
    touch(state, *task);
  }
  touch(state, job);
  return Ok;
}

Status apply(State& state, const DeleteJob& command, Instant now) {
  std::string key = object_key(command.project, command.name);
  TRY_STATUS(check_present(state.jobs, "job", key, command.version));
  api::Job& job = state.jobs.at(key);
  if (!job.metadata.deletionTimestamp) job.metadata.deletionTimestamp = now;
  touch(state, job);
  stop_tasks(state, job, {.message = "deleted"}, now);
  settle(state, key, now);
  return Ok;
}

namespace {

Result<api::Task*> array_task(State& state, const api::Job& job, int64_t index) {
  if (!job.spec.array)
    return error(Code::kInvalid, cat("job ", quoted(job.metadata.name), " is no array"), "index",
                 "leave it out: the job stops as a whole");
  auto task = state.tasks.find(task_id(job, index));
  if (task == state.tasks.end())
    return error(Code::kNotFound, cat("job ", quoted(job.metadata.name), " has no task ", index),
                 "index");
  return &task->second;
}

// What is sent, for whoever wonders why no checkpoint was written.
std::string describe_stop(const api::JobSpec& spec, const std::string& signal,
                          std::optional<Millis> grace) {
  std::string sent = !signal.empty()            ? signal
                     : !spec.stopSignal.empty() ? spec.stopSignal
                                                : "the image's stop signal, else SIGTERM,";
  if (sent == "SIGKILL") return "stop was asked for: SIGKILL to every process";
  return cat("stop was asked for: ", sent, spec.init ? " to its init" : " to every process",
             ", SIGKILL after ", format_duration(grace.value_or(spec.stopGrace)));
}

}  // namespace

Status apply(State& state, const StopJob& command, Instant now) {
  std::string key = object_key(command.project, command.name);
  TRY_STATUS(check_present(state.jobs, "job", key, 0));
  api::Job& job = state.jobs.at(key);
  if (api::is_terminal(job.status.phase)) return Ok;
  StopOrder order{
      .message = "stopped on request", .signal = command.signal, .grace = command.grace};
  if (command.index) {
    TRY(api::Task * task, array_task(state, job, *command.index));
    if (api::is_terminal(task->phase)) return Ok;
    emit_event(state, kJobKind, job.metadata, false, "Stopping",
               cat("a stop of ", task_words(job, *task), " was asked for"), now);
    stop_task(state, job, *task, order, now);
  } else {
    emit_event(state, kJobKind, job.metadata, false, "Stopping",
               describe_stop(job.spec, command.signal, command.grace), now);
    stop_tasks(state, job, order, now);
  }
  settle(state, key, now);
  return Ok;
}

Status apply(State& state, const SignalJob& command, Instant now) {
  std::string key = object_key(command.project, command.name);
  TRY_STATUS(check_present(state.jobs, "job", key, 0));
  api::Job& job = state.jobs.at(key);
  bool sent = false;
  for (api::Task* task : tasks_of(state, job)) {
    if (task->phase != Phase::kRunning) continue;
    emit_effect(state, {.what = Effect::What::kSignal,
                        .task = task->id,
                        .attempt = task->attempt,
                        .signal = command.signal});
    sent = true;
  }
  if (!sent)
    return error(Code::kConflict,
                 cat("job ", quoted(command.name), " has no running task to signal"));
  emit_event(state, kJobKind, job.metadata, false, "Signalled",
             cat(command.signal, " was sent on request"), now);
  return Ok;
}

void stop_tasks(State& state, api::Job& job, const StopOrder& order, Instant now) {
  for (api::Task* task : tasks_of(state, job))
    if (task != order.except) stop_task(state, job, *task, order, now);
}

void stop_task(State& state, const api::Job& job, api::Task& task, const StopOrder& order,
               Instant now) {
  if (api::is_terminal(task.phase)) return;
  bool requeue = order.intent == api::StopIntent::kRequeue;
  if (task.phase == Phase::kQueued) {
    if (requeue) return;
    task.reason = order.reason;
    task.message = order.message;
    task.endTime = now;
    return move(state, task,
                order.intent == api::StopIntent::kFail ? TaskEvent::kFail : TaskEvent::kCancel);
  }
  // A stop that is under way may only become more final: a requeue gives way to a cancel or
  // failure.
  bool stopping = task.phase == Phase::kStopping;
  if (stopping && requeue) return;
  if (!stopping || task.stopIntent == api::StopIntent::kRequeue) {
    task.stopIntent = order.intent;
    task.reason = order.reason;
    task.message = order.message;
  }
  if (!stopping) return move(state, task, TaskEvent::kStop, order.signal, order.grace);
  // Asked again, perhaps in other words ("stop it now"): the engine takes the shorter way out.
  emit_stop(state, job, task, order.signal, order.grace);
  touch(state, task);
}

void settle(State& state, const std::string& job_key, Instant now) {
  auto found = state.jobs.find(job_key);
  if (found == state.jobs.end() || !api::is_terminal(found->second.status.phase)) return;
  const api::Job& job = found->second;
  bool remove_now = job.spec.removeAfter && job.status.endTime &&
                    *job.status.endTime + *job.spec.removeAfter <= now;
  if (!job.metadata.deletionTimestamp && !remove_now) return;
  settle_dependents(state, now);  // while there still is what they wait for
  erase_job(state, job_key);
}

}  // namespace tessera::core
