#include "core/step.h"

#include "core/step_internal.h"

namespace tessera::core {

Status step(State& state, const Command& command, Instant now) {
  return std::visit([&](const auto& one) { return apply(state, one, now); }, command);
}

Status apply(State& state, const EffectDone& command, Instant) {
  if (state.outbox.erase(command.id) > 0) state.changes.effects_done.push_back(command.id);
  return Ok;
}

Status apply(State& state, const Tick&, Instant now) {
  for (const std::string& id : state.task_timers.due(now)) {
    api::Task& task = state.tasks.at(id);
    api::Job& job = state.jobs.at(object_key(task.project, task.job));
    if (task.phase == Phase::kRunning) {
      std::string message =
          cat("ran longer than its limit of ", format_duration(*job.spec.maxRuntime));
      emit_event(state, kJobKind, job.metadata, true, "MaxRuntime", message, now);
      stop_tasks(state, job,
                 {.intent = api::StopIntent::kFail,
                  .reason = api::Reason::kMaxRuntime,
                  .message = message},
                 now);
    } else {
      task.notBefore.reset();  // the back-off is over: the planner may look at it again
      touch(state, task);
    }
  }
  for (const std::string& key : state.job_timers.due(now)) erase_job(state, key);
  return Ok;
}

}  // namespace tessera::core
