#include "core/step.h"

#include "core/dependencies.h"
#include "core/snapshot.h"
#include "core/step_internal.h"

namespace tessera::core {

Status step(State& state, const Command& command, Instant now) {
  Status done = std::visit([&](const auto& one) { return apply(state, one, now); }, command);
  settle_dependents(state, now);
  refresh_planner(state);
  state.meters.settle(now, state.changes.usage);
  return done;
}

Status apply(State& state, const EffectDone& command, Instant) {
  if (state.outbox.erase(command.id) > 0) state.changes.effects_done.push_back(command.id);
  return Ok;
}

namespace {

void warn_of_end(State& state, const api::Job& job, api::Task& task, Instant now) {
  const api::EndWarning& warning = *job.spec.endWarning;
  task.warnAt.reset();
  emit_effect(state, {.what = Effect::What::kSignal,
                      .task = task.id,
                      .attempt = task.attempt,
                      .signal = warning.signal,
                      .firstProcessOnly = warning.firstProcessOnly});
  emit_event(state, kJobKind, job.metadata, false, "EndWarning",
             cat(warning.signal, " was sent to ", task_words(job, task),
                 ": its maximum runtime ends at ", format_instant(*task.stopAt)),
             now);
  touch(state, task);
}

void end_overrun(State& state, api::Job& job, api::Task& task, Instant now) {
  std::string message = cat("ran longer than its limit of ", format_duration(*job.spec.maxRuntime));
  emit_event(state, kJobKind, job.metadata, true, "MaxRuntime", message, now);
  StopOrder order{
      .intent = api::StopIntent::kFail, .reason = api::Reason::kMaxRuntime, .message = message};
  if (job.spec.array)
    stop_task(state, job, task, order, now);
  else
    stop_tasks(state, job, order, now);
}

}  // namespace

Status apply(State& state, const Tick&, Instant now) {
  for (const std::string& id : state.task_timers.due(now)) {
    api::Task& task = state.tasks.at(id);
    api::Job& job = state.jobs.at(object_key(task.project, task.job));
    if (task.phase != Phase::kRunning) {
      task.notBefore.reset();  // its wait is over: the planner may look at it again
      touch(state, task);
      continue;
    }
    if (task.warnAt && *task.warnAt <= now) warn_of_end(state, job, task, now);
    if (task.stopAt && *task.stopAt <= now) end_overrun(state, job, task, now);
  }
  for (const std::string& key : state.job_timers.due(now)) erase_job(state, key);
  return Ok;
}

}  // namespace tessera::core
