#include "core/status.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::core {

namespace {

bool any(const std::vector<const api::Task*>& tasks, Phase phase) {
  return std::any_of(tasks.begin(), tasks.end(),
                     [&](const api::Task* task) { return task->phase == phase; });
}

Phase phase_of(const std::vector<const api::Task*>& tasks, bool array) {
  bool ended = std::all_of(tasks.begin(), tasks.end(),
                           [](const api::Task* t) { return api::is_terminal(t->phase); });
  if (ended) {
    if (any(tasks, Phase::kFailed)) return Phase::kFailed;
    return any(tasks, Phase::kCancelled) ? Phase::kCancelled : Phase::kSucceeded;
  }
  // A gang is only as far as its last member, an array as far as its first.
  static constexpr Phase kGang[] = {Phase::kStopping, Phase::kQueued, Phase::kStarting,
                                    Phase::kRunning};
  static constexpr Phase kArray[] = {Phase::kRunning, Phase::kStarting, Phase::kStopping,
                                     Phase::kQueued};
  for (Phase phase : array ? kArray : kGang)
    if (any(tasks, phase)) return phase;
  CHECK(false);
}

api::ArrayStatus count_tasks(const std::vector<const api::Task*>& tasks) {
  api::ArrayStatus out;
  for (const api::Task* task : tasks) {
    if (task->phase == Phase::kQueued) ++out.queued;
    if (api::holds_devices(task->phase)) ++out.running;
    if (task->phase == Phase::kSucceeded) ++out.succeeded;
    if (task->phase == Phase::kFailed) ++out.failed;
    if (task->phase == Phase::kCancelled) ++out.cancelled;
  }
  return out;
}

// The node of the first task, or of the first one of an array that is on one.
const std::string& node_of(const std::vector<const api::Task*>& tasks, bool array) {
  for (const api::Task* task : tasks)
    if (array && api::holds_devices(task->phase)) return task->node;
  return tasks[0]->node;
}

// The task that speaks for the job: the one that failed by itself, rather than those stopped for
// it.
const api::Task* speaker(const std::vector<const api::Task*>& tasks) {
  for (const api::Task* task : tasks)
    if (task->phase == Phase::kFailed && task->reason != api::Reason::kGangMember) return task;
  for (const api::Task* task : tasks)
    if (task->reason != api::Reason::kNone && task->reason != api::Reason::kCompleted &&
        task->reason != api::Reason::kGangMember)
      return task;
  return tasks[0];
}

}  // namespace

void refresh_status(const State& state, api::Job& job) {
  std::vector<const api::Task*> tasks = tasks_of(state, job);
  bool array = job.spec.array.has_value();
  api::JobStatus status;
  status.number = tasks[0]->submission;
  status.dependencies = std::move(job.status.dependencies);
  status.phase = phase_of(tasks, array);
  if (array) status.array = count_tasks(tasks);
  const api::Task* voice = speaker(tasks);
  status.reason = voice->reason;
  status.message = voice->message;
  if (tasks.size() > 1 && !voice->message.empty())
    status.message = cat(array ? "task " : "replica ", voice->index, ": ", voice->message);
  status.node = node_of(tasks, array);
  bool ended = api::is_terminal(status.phase);
  if (ended && voice->exitCode) status.exitCode = voice->exitCode;
  for (const api::Task* task : tasks) {
    status.attempts = std::max(status.attempts, task->attempt);
    status.health = std::max(status.health, task->health);
    status.ports.insert(status.ports.end(), task->ports.begin(), task->ports.end());
    for (const api::Allocation& held : task->allocations)
      status.accelerators.push_back(held.accelerator);
    if (task->startTime && (!status.startTime || *task->startTime < *status.startTime))
      status.startTime = task->startTime;
    if (ended && task->endTime && (!status.endTime || *task->endTime > *status.endTime))
      status.endTime = task->endTime;
  }
  job.status = std::move(status);
}

std::string describe_exit(int64_t exit_code, bool oom_killed, MiB limit) {
  if (oom_killed)
    return cat("out of memory: it used more than its limit of ", format_memory(limit));
  if (exit_code > 128 && exit_code <= 128 + 64) {
    static constexpr std::pair<int64_t, std::string_view> kSignals[] = {
        {1, "SIGHUP"},   {2, "SIGINT"},   {3, "SIGQUIT"},  {4, "SIGILL"},   {6, "SIGABRT"},
        {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},  {10, "SIGUSR1"}, {11, "SIGSEGV"},
        {12, "SIGUSR2"}, {13, "SIGPIPE"}, {14, "SIGALRM"}, {15, "SIGTERM"}};
    for (const auto& [number, name] : kSignals)
      if (exit_code == 128 + number) return cat("ended by ", name, " (exit code ", exit_code, ")");
    return cat("ended by signal ", exit_code - 128, " (exit code ", exit_code, ")");
  }
  return cat("exit code ", exit_code);
}

}  // namespace tessera::core
