#include "core/dependencies.h"

#include <algorithm>

#include "core/step_internal.h"

namespace tessera::core {

namespace {

using api::DependencyCondition, api::DependencyState;

// The other job's tasks that the dependency is about.
std::vector<const api::Task*> awaited_tasks(const State& state, const api::Dependency& wanted,
                                            const api::Job& other) {
  if (!wanted.index) return tasks_of(state, other);
  return {&state.tasks.at(task_id(other, *wanted.index))};
}

DependencyState judge(const State& state, const api::Dependency& wanted, const api::Job& other) {
  bool all_begun = true, all_over = true, all_succeeded = true, one_failed = false;
  for (const api::Task* task : awaited_tasks(state, wanted, other)) {
    bool over = api::is_terminal(task->phase), succeeded = task->phase == Phase::kSucceeded;
    all_begun = all_begun && (over || task->startTime);
    all_over = all_over && over;
    all_succeeded = all_succeeded && succeeded;
    one_failed = one_failed || (over && !succeeded);
  }
  auto decided = [](bool is_true, bool never) {
    return is_true ? DependencyState::kFulfilled
           : never ? DependencyState::kNever
                   : DependencyState::kWaiting;
  };
  switch (wanted.condition) {
    case DependencyCondition::kAfterOk:
      return decided(all_succeeded, one_failed);
    case DependencyCondition::kAfterNotOk:
      return decided(all_over && one_failed, all_succeeded);
    case DependencyCondition::kAfterAny:
      return decided(all_over, false);
    case DependencyCondition::kAfter:
      return decided(all_begun, false);
  }
  CHECK(false);
}

std::string condition_words(const api::Dependency& wanted) {
  static constexpr std::string_view kWords[] = {"succeed", "fail", "end", "start"};
  return cat(wanted.index ? cat("task ", *wanted.index, " of ") : "", "job ", wanted.job, " to ",
             kWords[static_cast<size_t>(wanted.condition)]);
}

void end_waiting_in_vain(State& state, api::Job& job, const api::Dependency& wanted, Instant now) {
  std::string message =
      cat("waited for ", condition_words(wanted), ", which cannot happen any more");
  emit_event(state, kJobKind, job.metadata, true, "DependencyNeverSatisfied", message, now);
  std::string key = object_key(job.metadata.project, job.metadata.name);
  stop_tasks(state, job,
             {.reason = api::Reason::kDependencyNeverSatisfied, .message = std::move(message)},
             now);
  settle(state, key, now);
}

// Decides the entries of `job` that are about `other`: the longest delay that begins with it;
// nullopt when nothing was decided.
std::optional<Millis> decide(State& state, api::Job& job, const api::Job& other) {
  std::optional<Millis> delay;
  for (size_t i = 0; i < job.status.dependencies.size(); ++i) {
    api::DependencyStatus& entry = job.status.dependencies[i];
    if (entry.uid != other.metadata.uid || entry.state != DependencyState::kWaiting) continue;
    entry.state = judge(state, job.spec.dependsOn[i], other);
    if (entry.state == DependencyState::kWaiting) continue;
    delay = std::max(delay.value_or(Millis{}), job.spec.dependsOn[i].delay);
  }
  return delay;
}

void delay_tasks(State& state, const api::Job& job, Instant until) {
  for (api::Task* task : tasks_of(state, job)) {
    if (task->notBefore && *task->notBefore >= until) continue;
    task->notBefore = until;
    touch(state, *task);
  }
}

// After entries were decided: the job goes on waiting, waits a delay longer, or ends.
void follow(State& state, api::Job& job, Millis delay, Instant now) {
  if (api::is_terminal(job.status.phase)) return touch(state, job);
  for (size_t i = 0; i < job.status.dependencies.size(); ++i)
    if (job.status.dependencies[i].state == DependencyState::kNever)
      return end_waiting_in_vain(state, job, job.spec.dependsOn[i], now);
  if (delay.value > 0) delay_tasks(state, job, now + delay);
  touch(state, job);
}

}  // namespace

Status resolve_dependencies(const State& state, api::Job& job) {
  job.status.dependencies.clear();
  for (size_t i = 0; i < job.spec.dependsOn.size(); ++i) {
    const api::Dependency& wanted = job.spec.dependsOn[i];
    auto other = state.jobs.find(object_key(job.metadata.project, wanted.job));
    if (other == state.jobs.end())
      return error(Code::kNotFound, cat("there is no job ", quoted(wanted.job), " to depend on"),
                   cat("spec.dependsOn[", i, "].job"), "submit that job first");
    if (wanted.index && !state.tasks.contains(task_id(other->second, *wanted.index)))
      return error(Code::kInvalid, cat("job ", quoted(wanted.job), " has no task ", *wanted.index),
                   cat("spec.dependsOn[", i, "].index"));
    job.status.dependencies.push_back(
        {wanted.job, other->second.metadata.uid, judge(state, wanted, other->second)});
  }
  return Ok;
}

void await_dependencies(State& state, const std::string& key, const api::Job& job) {
  for (const api::DependencyStatus& entry : job.status.dependencies)
    if (entry.state == DependencyState::kWaiting) state.dependents[entry.uid].insert(key);
}

void forget_dependencies(State& state, const std::string& key, const api::Job& job) {
  for (const api::DependencyStatus& entry : job.status.dependencies) {
    auto waiting = state.dependents.find(entry.uid);
    if (waiting == state.dependents.end()) continue;
    waiting->second.erase(key);
    if (waiting->second.empty()) state.dependents.erase(waiting);
  }
}

void settle_dependents(State& state, Instant now) {
  while (!state.awaited.empty()) {
    std::string key = *state.awaited.begin();
    state.awaited.erase(state.awaited.begin());
    auto other = state.jobs.find(key);
    if (other == state.jobs.end()) continue;
    auto waiting = state.dependents.find(other->second.metadata.uid);
    if (waiting == state.dependents.end()) continue;
    const std::set<std::string> dependents = waiting->second;
    for (const std::string& dependent : dependents) {
      auto found = state.jobs.find(dependent);  // what was decided for one may remove another
      if (found == state.jobs.end()) continue;
      api::Job& job = found->second;
      forget_dependencies(state, dependent, job);
      std::optional<Millis> delay = decide(state, job, other->second);
      await_dependencies(state, dependent, job);
      if (delay) follow(state, job, *delay, now);
    }
  }
}

void follow_dependencies(State& state, api::Job& job, Instant now) {
  Millis delay;
  for (size_t i = 0; i < job.status.dependencies.size(); ++i)
    if (job.status.dependencies[i].state == DependencyState::kFulfilled)
      delay = std::max(delay, job.spec.dependsOn[i].delay);
  follow(state, job, delay, now);
}

std::string why_blocked(const State& state, const api::Job& job) {
  std::vector<std::string> unmet;
  for (size_t i = 0; i < job.status.dependencies.size(); ++i)
    if (job.status.dependencies[i].state == DependencyState::kWaiting)
      unmet.push_back(condition_words(job.spec.dependsOn[i]));
  if (!unmet.empty()) return cat("waits for ", join(unmet, " and for "));
  if (job.spec.singleton.empty()) return {};
  auto line = state.singletons.find({job.metadata.project, job.spec.singleton});
  if (line == state.singletons.end() || line->second.begin()->first == job.status.number) return {};
  return cat("waits for the job before it of singleton ", quoted(job.spec.singleton));
}

}  // namespace tessera::core
