#pragma once
// Shared by the files that make up step(): one function per command, and how tasks end.

#include "base/text.h"
#include "core/step.h"

namespace tessera::core {

Status apply(State& state, const CreateJob& command, Instant now);
Status apply(State& state, const ReplaceJob& command, Instant now);
Status apply(State& state, const DeleteJob& command, Instant now);
Status apply(State& state, const StopJob& command, Instant now);
Status apply(State& state, const SignalJob& command, Instant now);
Status apply(State& state, const CreateProject& command, Instant now);
Status apply(State& state, const ReplaceProject& command, Instant now);
Status apply(State& state, const DeleteProject& command, Instant now);
Status apply(State& state, const CreateSecret& command, Instant now);
Status apply(State& state, const ReplaceSecret& command, Instant now);
Status apply(State& state, const DeleteSecret& command, Instant now);
Status apply(State& state, const CreateUser& command, Instant now);
Status apply(State& state, const ReplaceUser& command, Instant now);
Status apply(State& state, const DeleteUser& command, Instant now);
Status apply(State& state, const CreateToken& command, Instant now);
Status apply(State& state, const DeleteToken& command, Instant now);
Status apply(State& state, const UseToken& command, Instant now);
Status apply(State& state, const ReplaceNode& command, Instant now);
Status apply(State& state, const ObserveNode& command, Instant now);
Status apply(State& state, const ObserveAccelerators& command, Instant now);
Status apply(State& state, const TaskStarted& command, Instant now);
Status apply(State& state, const TaskHealth& command, Instant now);
Status apply(State& state, const TaskExited& command, Instant now);
Status apply(State& state, const TaskStartFailed& command, Instant now);
Status apply(State& state, const Reconcile& command, Instant now);
Status apply(State& state, const EffectDone& command, Instant now);
Status apply(State& state, const Tick& command, Instant now);

// Asks every task of the job that is not over to stop; queued ones are over at once. The reason of
// a task that already has one stays.
struct StopOrder {
  api::StopIntent intent = api::StopIntent::kCancel;
  api::Reason reason = api::Reason::kCancelled;
  std::string message;
  std::string_view signal;  // empty: the job's own
  std::optional<Millis> grace;
  const api::Task* except = nullptr;
};
void stop_tasks(State& state, api::Job& job, const StopOrder& order, Instant now);
// The same for one task of the job.
void stop_task(State& state, const api::Job& job, api::Task& task, const StopOrder& order,
               Instant now);

// "the job", "replica 2" or "task 7": the task in the words of its job's events.
std::string task_words(const api::Job& job, const api::Task& task);
// From when on it runs: the ends of its maximum runtime and of the time before the warning.
void set_deadlines(const api::JobSpec& spec, api::Task& task);

// An attempt is over without success: the task is tried again or has failed, and its gang with it;
// the other tasks of an array go on.
struct Failure {
  api::Reason reason;
  std::string message;
  std::optional<int64_t> exit_code;
  bool passing = false;  // see TaskStartFailed
};
void fail_attempt(State& state, api::Task& task, const Failure& failure, Instant now);

// Ends whatever waits only for the job to be over: deletion, removal after a time.
void settle(State& state, const std::string& job_key, Instant now);

// What the server fills in of a new object.
void stamp(api::Metadata& metadata, Instant now);
// Labels and annotations are the user's; the rest of the metadata is the server's.
void take_user_metadata(api::Metadata& into, const api::Metadata& from);
Status already(std::string_view noun, const std::string& name);

// Not found, or not the version that the caller saw.
template <class Object>
Status check_present(const std::map<std::string, Object>& objects, std::string_view noun,
                     const std::string& key, int64_t version) {
  auto found = objects.find(key);
  if (found == objects.end())
    return error(Code::kNotFound, cat("there is no ", noun, " ", quoted(key)));
  int64_t current = found->second.metadata.resourceVersion;
  if (version != 0 && version != current)
    return error(Code::kConflict,
                 cat(noun, " ", quoted(key), " has changed since you read it (version ", current,
                     ", not ", version, ")"),
                 "metadata.resourceVersion", "read it again and repeat the change");
  return Ok;
}

}  // namespace tessera::core
