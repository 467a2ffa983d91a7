#pragma once
// Health checks: a program that is run in a container now and then and says by its exit code
// whether the container is well.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/local/images/documents.h"
#include "engine/local/machine.h"
#include "engine/local/workers.h"

namespace tessera::local {

// What a job says over what its image says; nullopt when there is nothing to check.
std::optional<api::HealthCheck> effective_check(const std::optional<api::HealthCheck>& job,
                                                const std::optional<api::HealthCheck>& image);

// How well a container is, from the results of its checks. Pure.
struct HealthState {
  api::ContainerHealth health = api::ContainerHealth::kStarting;
  int64_t failures = 0;  // in a row, those that count

  // In the start period, which the first success ends, failures do not count.
  void take(const api::HealthCheck& check, bool well, Millis since_start);
  Millis wait(const api::HealthCheck& check, Millis since_start) const;
};

// Owned by the supervisor; methods may be called on any thread.
class HealthMonitor {
 public:
  // `report`: on a thread of the monitor's own, whenever the health changes.
  using Report =
      std::function<void(const TaskPtr& task, api::ContainerHealth health, std::string message)>;

  HealthMonitor(Machine& machine, Report report);
  ~HealthMonitor();

  // Keeps what is to be checked where a new engine finds it.
  static Status keep(const std::string& state_folder, const api::HealthCheck& check);
  // Begins to check a container that runs, if it has a check. `adopted`: by an engine that did not
  // start it; what is known of it stays until a check says otherwise.
  void watch(const TaskPtr& task, bool adopted);
  void forget(const TaskPtr& task);

 private:
  struct Watch;
  using WatchPtr = std::shared_ptr<Watch>;
  void plan(const WatchPtr& watch);
  void begin(const WatchPtr& watch);
  void time_out(const WatchPtr& watch, int64_t probe);
  void end(const WatchPtr& watch, int64_t probe, int exit_code);

  Machine& machine_;
  const Report report_;
  std::mutex mutex_;
  bool closing_ = false;
  std::map<std::string, WatchPtr> watches_;  // by container
  Workers workers_;
};

}  // namespace tessera::local
