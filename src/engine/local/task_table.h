#pragma once
// What this engine knows of its containers: one row for each task, the newest attempt.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "engine/engine.h"
#include "engine/local/containerd/types.h"

namespace tessera::local {

using engine::TaskRef;

enum class Step {
  kStarting,
  kRunning,
  kFinishing,  // its first process has ended; someone sees to the rest
  kExited,     // reported
  kFailed,     // could not start; reported, and nothing of it is left
};

// One attempt. What changes is guarded by the table's mutex.
struct Task {
  TaskRef ref;
  std::string container;
  std::string project;
  bool stdin_open = false;
  bool init = false;  // its first process passes signals on to the others

  Step step = Step::kStarting;
  Instant started;
  bool oom_seen = false;
  bool exit_seen = false;    // while it was still being started
  std::optional<Exit> told;  // how it ended, as containerd said before it may have forgotten it
  bool cancelled = false;    // a stop came while it was being started
  int stop_signal = 0;       // the last one that a stop sent
  int exit_code = 0;
  Fd shm;   // its /dev/shm, which so can be looked at when all its processes are gone
  Fd over;  // an eventfd that becomes readable when it has ended: for log followers

  bool ended() const { return step == Step::kExited || step == Step::kFailed; }
};
using TaskPtr = std::shared_ptr<Task>;

// "<task>.<attempt>".
std::string container_id(const TaskRef& ref);

class TaskTable {
 public:
  // kConflict when a newer attempt is, or was, known.
  Status check_attempt(const TaskRef& ref) const;

  TaskPtr find(const std::string& task) const;
  TaskPtr find_container(const std::string& container) const;
  std::vector<TaskPtr> all() const;
  void put(const TaskPtr& task);
  void erase(const TaskPtr& task);
  void forget(const std::string& task);  // its attempts as well; nothing of it is left

  // Calls `change` with the table locked and wakes whoever waits.
  template <class Change>
  auto update(const Change& change) {
    std::lock_guard lock(mutex_);
    struct Wake {
      std::condition_variable& changed;
      ~Wake() { changed.notify_all(); }
    } wake{changed_};
    return change();
  }
  // False when it has not ended within `limit`.
  bool wait_ended(const TaskPtr& task, Millis limit);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, TaskPtr> rows_;      // by task
  std::map<std::string, int64_t> attempts_;  // the newest known of each task, also when removed
};

TaskPtr make_task(const TaskRef& ref, const std::string& project, bool stdin_open);

}  // namespace tessera::local
