#pragma once
// The whole truth of a cluster as one value: desired objects, tasks, decisions. Owned by the brain;
// only core/step.cc and core/apply.cc change it, through the functions below, which keep the
// indexes and the list of changes right.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/lifecycle.h"
#include "core/sched/planner.h"
#include "core/usage.h"

namespace tessera::core {

// "project/name": the key of an object in a project; objects of the cluster go by their name.
std::string object_key(std::string_view project, std::string_view name);
std::string task_id(const api::Job& job, int64_t index);

// What a tick changed, for the store and the readers. Keys by kind; `erased` holds kind and key.
struct Changes {
  std::map<std::string_view, std::set<std::string>> touched;
  std::set<std::pair<std::string_view, std::string>> erased;
  std::vector<api::Event> events;
  std::vector<Effect> effects;
  std::vector<int64_t> effects_done;
  UsageSums usage;  // to be added
  bool empty() const {
    return touched.empty() && erased.empty() && events.empty() && effects.empty() &&
           effects_done.empty() && usage.empty();
  }
};

// Names of the kinds in Changes; "Task" is stored though it is no kind of the API.
inline constexpr std::string_view kJobKind = "Job", kTaskKind = "Task", kProjectKind = "Project",
                                  kSecretKind = "Secret", kNodeKind = "Node",
                                  kAcceleratorKind = "Accelerator", kUserKind = "User",
                                  kTokenKind = "Token";

// Points in time by key, at most one each.
class Timers {
 public:
  void set(const std::string& key, std::optional<Instant> at);
  std::optional<Instant> next() const;
  // Keys whose time has come, earliest first.
  std::vector<std::string> due(Instant now) const;

 private:
  std::map<std::string, Instant> at_;
  std::set<std::pair<Instant, std::string>> order_;
};

struct State {
  // The facts.
  std::map<std::string, api::Job> jobs;
  std::map<std::string, api::Task> tasks;
  std::map<std::string, api::Project> projects;
  std::map<std::string, api::Secret> secrets;
  std::map<std::string, api::Node> nodes;
  std::map<std::string, api::Accelerator> accelerators;
  std::map<std::string, api::User> users;
  std::map<std::string, api::Token> tokens;
  std::map<int64_t, Effect> outbox;  // effects not yet done
  int64_t version = 0;               // last resourceVersion given
  int64_t submissions = 0;           // last submission number given
  int64_t last_effect = 0;
  int64_t last_event = 0;

  // Derived from the facts; rebuild() makes them anew.
  // What the planner knows: nodes, what tasks hold of them, and the jobs with a queued task.
  sched::Planner planner;
  std::set<std::string> stale_nodes;  // of which the planner has yet to hear, see snapshot.h
  std::set<std::string> holding;      // tasks that hold devices
  // Jobs that wait for another one (spec.dependsOn), by the uid of that one.
  std::map<std::string, std::set<std::string>> dependents;
  // Jobs that are not over, by project and spec.singleton, in the order of submission: only the
  // first of each line may run.
  std::map<std::pair<std::string, std::string>, std::map<int64_t, std::string>> singletons;
  // Jobs that changed in this step and that others wait for; empty between steps.
  std::set<std::string> awaited;
  Timers task_timers;  // maximum runtime and its warning; end of a back-off
  Timers job_timers;   // removeAfter
  Meters meters;       // but for the times since when it counts, see core/usage.h

  Changes changes;
  bool plan_needed = true;  // something changed that the planner looks at
};

// Recomputes everything derived from the facts, after a load. Clears changes.
void rebuild(State& state);

// After an object was changed: gives it a new version, notes the change, keeps the indexes. For a
// task this also brings its job's status up to date.
void touch(State& state, api::Job& job);
void touch(State& state, api::Task& task);
void touch(State& state, api::Project& project);
void touch(State& state, api::Secret& secret);
void touch(State& state, api::Node& node);
void touch(State& state, api::Accelerator& accelerator);
void touch(State& state, api::User& user);
void touch(State& state, api::Token& token);
// Removes an object and its index entries.
void erase_job(State& state, const std::string& key);
template <class Object>
void erase(State& state, std::map<std::string, Object>& objects, std::string_view kind,
           const std::string& key) {
  objects.erase(key);
  state.changes.erased.emplace(kind, key);
}

// Makes the move that the lifecycle table has for this event (a bug when it has none), releases
// devices when the task no longer holds them and emits the effect that follows. The caller sets the
// task's other fields first; its signal and grace come from the job unless given.
void move(State& state, api::Task& task, TaskEvent event, std::string_view signal = {},
          std::optional<Millis> grace = std::nullopt);

void emit_effect(State& state, Effect effect);
// The task's container is to end: with this signal and grace, or the job's own.
void emit_stop(State& state, const api::Job& job, const api::Task& task,
               std::string_view signal = {}, std::optional<Millis> grace = std::nullopt);
void emit_event(State& state, std::string_view kind, const api::Metadata& about, bool warning,
                std::string_view reason, std::string message, Instant now);

// The job's tasks in order of their index, each of a gang or of an array.
std::vector<api::Task*> tasks_of(State& state, const api::Job& job);
std::vector<const api::Task*> tasks_of(const State& state, const api::Job& job);

// When time alone will next change something; nullopt: never.
std::optional<Instant> next_deadline(const State& state);

}  // namespace tessera::core
