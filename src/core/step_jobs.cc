// What users ask of jobs.

#include <algorithm>
#include <array>

#include "api/codec.h"
#include "core/status.h"
#include "core/step_internal.h"

namespace tessera::core {

Status apply(State& state, const CreateJob& command, Instant now) {
  const api::Job& wanted = command.job;
  std::string key = object_key(wanted.metadata.project, wanted.metadata.name);
  if (!state.projects.contains(wanted.metadata.project))
    return error(Code::kNotFound, cat("there is no project ", quoted(wanted.metadata.project)),
                 "metadata.project", "'tessera get projects' lists them");
  if (state.jobs.contains(key))
    return error(Code::kAlreadyExists, cat("there already is a job ", quoted(wanted.metadata.name)),
                 "metadata.name", "choose another name, or delete the old job first");
  if (static_cast<int64_t>(state.queue.size() + state.holding.size()) >= kActiveJobLimit)
    return error(Code::kExhausted, cat("the queue is full: ", kActiveJobLimit, " jobs wait or run"),
                 {}, "try again when some have ended");

  api::Job job = wanted;
  job.metadata.creationTimestamp = now;
  job.metadata.generation = 1;
  int64_t submission = ++state.submissions;
  api::Job& kept = state.jobs.emplace(key, std::move(job)).first->second;
  for (int64_t i = 0; i < kept.spec.replicas; ++i) {
    api::Task task;
    task.id = task_id(kept, i);
    task.job = kept.metadata.name;
    task.project = kept.metadata.project;
    task.jobUid = kept.metadata.uid;
    task.index = i;
    task.submission = submission;
    state.tasks.emplace(task.id, std::move(task));
  }
  for (api::Task* task : tasks_of(state, kept)) state.changes.touched[kTaskKind].insert(task->id);
  refresh_status(state, kept);
  touch(state, kept);
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
  job.metadata.labels = metadata.labels;
  job.metadata.annotations = metadata.annotations;
  job.spec = command.job.spec;
  for (api::Task* task : tasks_of(state, job)) {
    if (task->phase != Phase::kRunning) continue;
    task->stopAt.reset();
    if (job.spec.maxRuntime) task->stopAt = *task->startTime + *job.spec.maxRuntime;
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

Status apply(State& state, const StopJob& command, Instant now) {
  std::string key = object_key(command.project, command.name);
  TRY_STATUS(check_present(state.jobs, "job", key, 0));
  api::Job& job = state.jobs.at(key);
  if (api::is_terminal(job.status.phase)) return Ok;
  emit_event(state, kJobKind, job.metadata, false, "Stopping", "stop was asked for", now);
  stop_tasks(state, job,
             {.message = "stopped on request", .signal = command.signal, .grace = command.grace},
             now);
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
  for (api::Task* task : tasks_of(state, job)) {
    if (task == order.except || api::is_terminal(task->phase)) continue;
    bool requeue = order.intent == api::StopIntent::kRequeue;
    if (task->phase == Phase::kQueued) {
      if (requeue) continue;
      task->reason = order.reason;
      task->message = order.message;
      task->endTime = now;
      move(state, *task,
           order.intent == api::StopIntent::kFail ? TaskEvent::kFail : TaskEvent::kCancel);
      continue;
    }
    // A stop that is under way may only become more final: a requeue gives way to a cancel or
    // failure.
    bool stopping = task->phase == Phase::kStopping;
    if (stopping && requeue) continue;
    if (!stopping || task->stopIntent == api::StopIntent::kRequeue) {
      task->stopIntent = order.intent;
      task->reason = order.reason;
      task->message = order.message;
    }
    if (!stopping) {
      move(state, *task, TaskEvent::kStop, order.signal, order.grace);
      continue;
    }
    // Asked again, perhaps in other words ("stop it now"): the engine takes the shorter way out.
    emit_stop(state, job, *task, order.signal, order.grace);
    touch(state, *task);
  }
}

void settle(State& state, const std::string& job_key, Instant now) {
  auto found = state.jobs.find(job_key);
  if (found == state.jobs.end() || !api::is_terminal(found->second.status.phase)) return;
  const api::Job& job = found->second;
  bool remove_now = job.spec.removeAfter && job.status.endTime &&
                    *job.status.endTime + *job.spec.removeAfter <= now;
  if (job.metadata.deletionTimestamp || remove_now) erase_job(state, job_key);
}

}  // namespace tessera::core
