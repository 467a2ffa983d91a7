#pragma once
// Sees to it that each container's end is noticed, exactly once, and that what is to end does end:
// by containerd's events, by looking again after containerd or we were away, and by force.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "engine/local/containerd/subscription.h"
#include "engine/local/health.h"
#include "engine/local/launcher.h"
#include "engine/local/machine.h"
#include "engine/local/workers.h"

namespace tessera::local {

// Owned by the engine. Methods may be called on any thread.
class Supervisor {
 public:
  using Observe = std::function<void(engine::Observation)>;

  Supervisor(Machine& machine, Launcher& launcher, Observe observe);
  ~Supervisor();

  // Takes over the containers of the last engine, reports those that ended, clears away what is
  // left of those that never started; then follows events.
  Status start();

  // The launch of a task begins; report_started() or report_failed() follows.
  void report_started(const TaskPtr& task);
  void report_failed(const TaskPtr& task, const StartFailure& failure);

  // Sends the signal to all processes; SIGKILL after `grace`, and harder means after that.
  Status stop(const TaskPtr& task, int signal, Millis grace);
  // Kills and waits until it has ended and was reported. Never during its launch.
  Status end(const TaskPtr& task);

 private:
  Result<std::set<std::string>> adopt_all();
  bool adopt(const ContainerRecord& record, const TaskInfo* info);
  bool goes_on(const ContainerRecord& record, const TaskInfo* info);
  void wipe(const std::string& container, const std::string& project);
  void collect();
  void collect_files(const std::set<std::string>& live);

  void on_event(const Event& event);
  void relist();
  void relist_regularly();
  void look_at(const TaskPtr& task);

  struct Ending {
    bool ended = false;
    std::optional<Exit> exit;  // nobody knows when it has ended without
  };
  // `seen`: what containerd told, should it know no more of the task.
  void finish(const TaskPtr& task, std::optional<Exit> seen);
  bool claim(const TaskPtr& task);
  void release(const TaskPtr& task);
  Result<Ending> look(const TaskPtr& task) const;
  bool put_away(const TaskPtr& task, const Ending& ending);
  void report_exit(const TaskPtr& task, const Exit& exit, bool oom, api::Reason reason,
                   std::string message);

  void mark_failed(const TaskPtr& task);
  Status kill(const TaskPtr& task, int signal);
  Status kill_now(const TaskPtr& task);
  void escalate(const TaskPtr& task);
  void force(const TaskPtr& task);
  void kill_shim(const TaskPtr& task) const;

  Machine& machine_;
  Launcher& launcher_;
  const Observe observe_;
  Workers workers_;
  HealthMonitor health_;
  std::unique_ptr<Subscription> events_;
};

}  // namespace tessera::local
