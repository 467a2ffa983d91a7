#pragma once
// What can happen to the state, and what the state asks of the engine. Both are data: a command can
// be logged and replayed, an effect is written to the outbox before anyone acts on it.

#include <variant>
#include <vector>

#include "api/job.h"
#include "api/objects.h"

namespace tessera::core {

// Replaces and deletes name the version that the caller saw; 0 means whatever there is.
struct CreateJob {
  api::Job job;  // validated; name, project and uid filled in by the caller
};
struct ReplaceJob {
  api::Job job;
};
struct DeleteJob {
  std::string project, name;
  int64_t version = 0;
};
struct StopJob {
  std::string project, name;
  std::string signal;  // empty: the job's own
  std::optional<Millis> grace;
  std::optional<int64_t> index = {};  // only this task of an array
};
struct SignalJob {
  std::string project, name;
  std::string signal;
};
struct CreateProject {
  api::Project project;
};
struct ReplaceProject {
  api::Project project;
};
struct DeleteProject {
  std::string name;
  int64_t version = 0;
};
struct CreateSecret {
  api::Secret secret;
};
struct ReplaceSecret {
  api::Secret secret;
};
struct DeleteSecret {
  std::string project, name;
  int64_t version = 0;
};
struct CreateUser {
  api::User user;
};
struct ReplaceUser {
  api::User user;
};
struct DeleteUser {
  std::string name;
  int64_t version = 0;
};
struct CreateToken {
  api::Token token;  // with its hash
};
struct DeleteToken {
  std::string name;
  int64_t version = 0;
};
// A token has signed someone in.
struct UseToken {
  std::string name;
};
struct ReplaceNode {  // labels and spec; the status is observed
  api::Node node;
};

// Observations of engines and accelerator providers.
struct ObserveNode {
  api::Node node;
};
struct ObserveAccelerators {
  std::string node;
  std::vector<api::Accelerator> accelerators;  // all that the node has
};
struct TaskStarted {
  std::string task;
  int64_t attempt = 0;
  std::vector<api::Port> ports = {};  // where they are published
};
struct TaskHealth {
  std::string task;
  int64_t attempt = 0;
  api::ContainerHealth health = api::ContainerHealth::kNone;
  std::string message;  // the last output of the check
};
struct TaskExited {
  std::string task;
  int64_t attempt = 0;
  int64_t exit_code = 0;  // 128 + signal when a signal ended it
  bool oom_killed = false;
  bool lost = false;    // nobody knows how it ended
  std::string message;  // when lost; else what may explain the end
};
struct TaskStartFailed {
  std::string task;
  int64_t attempt = 0;
  api::Reason reason = api::Reason::kStartFailed;
  std::string message;
  // Not the engine says so, but who could not ask it: wrong if the attempt is known to have started
  // (an ensure that is carried out again after a crash).
  bool guessed = false;
  // What stands in the way is none of the job's doing and passes (a full disk): it is tried again
  // until it does, and no try is counted.
  bool passing = false;
};
// What the engine has, to close every difference: after a restart of the server, and now and then
// for containers that vanish without a word.
struct Reconcile {
  struct Container {
    std::string task;
    int64_t attempt = 0;
    auto operator<=>(const Container&) const = default;
  };
  std::vector<Container> containers;
  // Which were known to run before the engine was asked: only these can be missing. Empty after a
  // restart, when nothing was started beside: then all that hold devices can, and what the last
  // server had under way (a start, the grace of a stop) is begun again.
  std::optional<std::vector<Container>> known;
  // Those of `containers` that run or have run.
  std::vector<TaskStarted> started = {};
};
struct EffectDone {
  int64_t id = 0;
};
// Time has passed: deadlines are looked at.
struct Tick {};

using Command =
    std::variant<CreateJob, ReplaceJob, DeleteJob, StopJob, SignalJob, CreateProject,
                 ReplaceProject, DeleteProject, CreateSecret, ReplaceSecret, DeleteSecret,
                 CreateUser, ReplaceUser, DeleteUser, CreateToken, DeleteToken, UseToken,
                 ReplaceNode, ObserveNode, ObserveAccelerators, TaskStarted, TaskHealth, TaskExited,
                 TaskStartFailed, Reconcile, EffectDone, Tick>;

struct Effect {
  enum class What { kEnsure, kStop, kSignal, kRemove, kRemoveLogs };
  int64_t id = 0;
  What what = What::kEnsure;
  std::string task;
  int64_t attempt = 0;
  std::string signal;
  Millis grace;
  bool firstProcessOnly = false;

  bool operator==(const Effect&) const = default;
  static constexpr std::string_view kTypeName = "Effect";
  static constexpr auto fields() {
    using schema::field;
    return std::tuple(field("id", &Effect::id, "Number in the outbox.", {.required = true}),
                      field("what", &Effect::what, "What the engine must do.", {.required = true}),
                      field("task", &Effect::task, "To which task.", {.required = true}),
                      field("attempt", &Effect::attempt, "To which attempt of it."),
                      field("signal", &Effect::signal, "Signal to send."),
                      field("grace", &Effect::grace, "Time until SIGKILL."),
                      field("firstProcessOnly", &Effect::firstProcessOnly,
                            "Signal the first process and no other."));
  }
};
constexpr std::array<std::string_view, 5> enum_names(Effect::What) {
  return {"Ensure", "Stop", "Signal", "Remove", "RemoveLogs"};
}
static_assert(schema::complete<Effect>());

}  // namespace tessera::core
