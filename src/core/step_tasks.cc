// What the engine reports about containers.

#include <algorithm>

#include "core/status.h"
#include "core/step_internal.h"

namespace tessera::core {

namespace {

// The task that the report is about, when it is about the attempt that we know to hold devices.
// Older attempts are fenced: what they do no longer matters.
api::Task* current(State& state, const std::string& id, int64_t attempt) {
  auto found = state.tasks.find(id);
  if (found == state.tasks.end()) return nullptr;
  api::Task& task = found->second;
  return task.attempt == attempt && api::holds_devices(task.phase) ? &task : nullptr;
}

using api::RestartPolicy;

Millis backoff_of(const api::JobSpec& spec, int64_t failures) {
  // An hour: long enough to stop a crash loop, short enough to notice a repair. What is to run for
  // ever is waited for: a minute, as docker has it.
  const int64_t most_ms = spec.restartPolicy == RestartPolicy::kNever ? 3'600'000 : 60'000;
  // And never without any wait: what fails at once would keep the machine busy with nothing else.
  const int64_t least_ms = spec.restartPolicy == RestartPolicy::kNever ? 0 : 100;
  int64_t ms = std::max(spec.backoff.value, least_ms);
  for (int64_t i = 1; i < failures && ms < most_ms; ++i) ms *= 2;
  return {std::min(ms, most_ms)};
}

// After so long it did not fail because it cannot run: the waits begin anew (docker's rule).
constexpr Millis kRanWell{10'000};

// Between tries when something passing stands in the way: someone has to notice it and make room.
constexpr Millis kPassingWait{30'000};

// Whether the restart policy starts it again. What never ran has a fault that trying does not
// mend: an image or a program that is not there.
bool restarts(const api::Task& task, const api::JobSpec& spec) {
  return spec.restartPolicy != RestartPolicy::kNever && (task.startTime || task.attempt > 1);
}

void forget_failures_of_old(api::Task& task, const api::JobSpec& spec, Instant now) {
  bool well = task.startTime && now - *task.startTime >= kRanWell;
  if (spec.restartPolicy != RestartPolicy::kNever && well) task.failures = 0;
}

// It ended by itself with success, and is to run for ever.
void start_again(State& state, api::Task& task, const api::Job& job, Instant now) {
  forget_failures_of_old(task, job.spec, now);
  Millis wait = backoff_of(job.spec, ++task.failures);
  task.notBefore = now + wait;
  emit_event(state, kJobKind, job.metadata, false, "Restart",
             cat("ended by itself; starting again in ", format_duration(wait)), now);
  move(state, task, TaskEvent::kRetry);
}

bool one_of_several(const api::Job& job) {
  return job.spec.array || job.spec.replicas > 1;
}

// A task in Stopping whose container is gone goes where its stop was meant to lead.
void finish_stop(State& state, api::Task& task) {
  switch (task.stopIntent) {
    case api::StopIntent::kRequeue:
      return move(state, task, TaskEvent::kRequeue);
    case api::StopIntent::kFail:
      return move(state, task, TaskEvent::kStopFailed);
    case api::StopIntent::kCancel:
    case api::StopIntent::kNone:
      return move(state, task, TaskEvent::kStopped);
  }
}

}  // namespace

std::string task_words(const api::Job& job, const api::Task& task) {
  if (!one_of_several(job)) return "the job";
  return cat(job.spec.array ? "task " : "replica ", task.index);
}

void set_deadlines(const api::JobSpec& spec, api::Task& task) {
  task.stopAt.reset();
  task.warnAt.reset();
  if (!spec.maxRuntime) return;
  task.stopAt = *task.startTime + *spec.maxRuntime;
  if (spec.endWarning) task.warnAt = *task.stopAt + spec.endWarning->before * -1;
}

Status apply(State& state, const TaskStarted& command, Instant now) {
  api::Task* task = current(state, command.task, command.attempt);
  if (!task || task->startTime) return Ok;
  const api::Job& job = state.jobs.at(object_key(task->project, task->job));
  task->startTime = now;
  task->ports = command.ports;
  if (task->phase == Phase::kStopping) {
    touch(state, *task);  // a stop was faster, but it does run
    return Ok;
  }
  set_deadlines(job.spec, *task);
  emit_event(state, kJobKind, job.metadata, false, "Started",
             one_of_several(job) ? cat(task_words(job, *task), " runs on ", task->node)
                                 : cat("runs on ", task->node),
             now);
  move(state, *task, TaskEvent::kStart);
  return Ok;
}

Status apply(State& state, const TaskHealth& command, Instant now) {
  api::Task* task = current(state, command.task, command.attempt);
  if (!task || task->health == command.health) return Ok;
  const api::Job& job = state.jobs.at(object_key(task->project, task->job));
  task->health = command.health;
  std::string_view word = enum_names(command.health)[static_cast<size_t>(command.health)];
  bool unwell = command.health == api::ContainerHealth::kUnhealthy;
  std::string said = command.message.empty() ? "" : cat(": ", command.message);
  if (command.health != api::ContainerHealth::kStarting)
    emit_event(state, kJobKind, job.metadata, unwell, word,
               cat(unwell ? "its health check fails" : "its health check succeeds", said), now);
  touch(state, *task);
  return Ok;
}

Status apply(State& state, const TaskExited& command, Instant now) {
  api::Task* task = current(state, command.task, command.attempt);
  if (!task) return Ok;
  std::string job_key = object_key(task->project, task->job);
  const api::Job& job = state.jobs.at(job_key);
  task->exitCode = command.exit_code;
  task->endTime = now;
  if (task->phase == Phase::kStopping) {
    finish_stop(state, *task);
  } else if (command.lost) {
    fail_attempt(state, *task, {api::Reason::kLost, command.message, std::nullopt}, now);
  } else if (command.exit_code == 0 && !command.oom_killed &&
             job.spec.restartPolicy == RestartPolicy::kAlways && !job.metadata.deletionTimestamp) {
    start_again(state, *task, job, now);
  } else if (command.exit_code == 0 && !command.oom_killed) {
    task->reason = api::Reason::kCompleted;
    task->message = "ended by itself";
    move(state, *task, TaskEvent::kSucceed);
    if (job.status.phase == Phase::kSucceeded)
      emit_event(state, kJobKind, job.metadata, false, "Completed", "ended by itself", now);
  } else {
    api::Reason reason = command.oom_killed        ? api::Reason::kOomKilled
                         : command.exit_code > 128 ? api::Reason::kSignal
                                                   : api::Reason::kExitCode;
    std::string why = describe_exit(command.exit_code, command.oom_killed, task->memory);
    if (!command.message.empty()) why += cat("; ", command.message);
    fail_attempt(state, *task, {reason, std::move(why), command.exit_code}, now);
  }
  settle(state, job_key, now);
  return Ok;
}

Status apply(State& state, const TaskStartFailed& command, Instant now) {
  api::Task* task = current(state, command.task, command.attempt);
  if (!task || (command.guessed && task->startTime)) return Ok;
  std::string job_key = object_key(task->project, task->job);
  task->endTime = now;
  if (task->phase == Phase::kStopping)
    finish_stop(state, *task);
  else
    fail_attempt(state, *task, {command.reason, command.message, std::nullopt, command.passing},
                 now);
  settle(state, job_key, now);
  return Ok;
}

void fail_attempt(State& state, api::Task& task, const Failure& failure, Instant now) {
  api::Job& job = state.jobs.at(object_key(task.project, task.job));
  bool alone = job.spec.array.has_value();
  bool excused =
      failure.passing || (job.spec.requeue && (failure.reason == api::Reason::kLost ||
                                               failure.reason == api::Reason::kPreempted));
  forget_failures_of_old(task, job.spec, now);
  ++(excused ? task.requeues : task.failures);
  int64_t failures = 0, requeues = 0;
  bool one_is_over = false;
  for (const api::Task* member : alone ? std::vector{&task} : tasks_of(state, job)) {
    failures += member->failures;
    requeues += member->requeues;
    one_is_over = one_is_over || api::is_terminal(member->phase);
  }
  // A gang runs again as a whole or not at all; a member that is over cannot run again.
  bool allowed = excused || failures <= job.spec.retries || restarts(task, job.spec);
  bool again = allowed && !one_is_over && !job.metadata.deletionTimestamp;
  task.reason = failure.reason;
  task.message = failure.message;
  task.exitCode = failure.exit_code;
  if (again) {
    Millis wait = backoff_of(job.spec, failures + requeues);
    if (failure.passing) wait = std::min(wait, kPassingWait);
    task.notBefore = now + wait;
    bool counted = !excused && job.spec.restartPolicy == RestartPolicy::kNever;
    std::string count = counted ? cat(" (", failures, " of ", job.spec.retries, ")") : "";
    emit_event(state, kJobKind, job.metadata, true, excused ? "Requeued" : "Retry",
               cat(failure.message, "; trying again in ", format_duration(wait), count), now);
    move(state, task, TaskEvent::kRetry);
  } else {
    emit_event(state, kJobKind, job.metadata, true,
               enum_names(failure.reason)[static_cast<size_t>(failure.reason)], failure.message,
               now);
    move(state, task, TaskEvent::kFail);
  }
  if (alone) return;
  std::string whose = cat("replica ", task.index, " of the gang failed: ", failure.message);
  stop_tasks(state, job,
             {.intent = again ? api::StopIntent::kRequeue : api::StopIntent::kFail,
              .reason = api::Reason::kGangMember,
              .message = std::move(whose),
              .except = &task},
             now);
}

namespace {

using Containers = std::set<Reconcile::Container>;

// Attempts with an effect of this kind in the outbox.
Containers waiting_for(const State& state, Effect::What what) {
  Containers out;
  for (const auto& [id, effect] : state.outbox)
    if (effect.what == what) out.insert({effect.task, effect.attempt});
  return out;
}

// Containers that no one asked for, or of attempts that are over.
void remove_strays(State& state, const Containers& present) {
  Containers leaving = waiting_for(state, Effect::What::kRemove);
  for (const Reconcile::Container& container : present)
    if (!current(state, container.task, container.attempt) && !leaving.contains(container))
      emit_effect(
          state,
          {.what = Effect::What::kRemove, .task = container.task, .attempt = container.attempt});
}

void lose(State& state, api::Task& task, Instant now) {
  std::string job_key = object_key(task.project, task.job);
  task.endTime = now;
  if (task.phase == Phase::kStopping)
    finish_stop(state, task);
  else
    fail_attempt(state, task,
                 {api::Reason::kLost, "its container is gone without a trace", std::nullopt}, now);
  settle(state, job_key, now);
}

// What the last server had under way for the task's container died with it, unless the outbox has
// it still: a start that was not over, the grace after which a stop kills.
void resume(State& state, const api::Task& task, bool started, bool stop_is_pending) {
  if (task.phase != Phase::kStopping && !started)
    emit_effect(state, {.what = Effect::What::kEnsure, .task = task.id, .attempt = task.attempt});
  if (task.phase == Phase::kStopping && !stop_is_pending)
    emit_stop(state, state.jobs.at(object_key(task.project, task.job)), task);
}

}  // namespace

Status apply(State& state, const Reconcile& command, Instant now) {
  Containers present(command.containers.begin(), command.containers.end());
  remove_strays(state, present);
  Containers started;
  for (const TaskStarted& one : command.started) {
    started.insert({one.task, one.attempt});
    TRY_STATUS(apply(state, one, now));
  }
  // An ensure that is still to be done explains why there is no container yet.
  Containers coming = waiting_for(state, Effect::What::kEnsure);
  Containers stopping = waiting_for(state, Effect::What::kStop);
  bool restarted = !command.known;
  Containers known;
  if (command.known) known.insert(command.known->begin(), command.known->end());

  std::vector<std::string> holding(state.holding.begin(), state.holding.end());
  for (const std::string& id : holding) {
    // Losing one member of a gang may have moved this one already.
    auto found = state.tasks.find(id);
    if (found == state.tasks.end() || !api::holds_devices(found->second.phase)) continue;
    api::Task& task = found->second;
    Reconcile::Container container{id, task.attempt};
    if (coming.contains(container)) continue;
    bool never_ran = task.phase == Phase::kStarting;
    if (present.contains(container) || never_ran) {
      if (restarted) resume(state, task, started.contains(container), stopping.contains(container));
    } else if (restarted || known.contains(container)) {
      lose(state, task, now);
    }
  }
  return Ok;
}

}  // namespace tessera::core
