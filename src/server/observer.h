#pragma once
// Looks at the node and its accelerators, at once and then again and again, and tells the brain.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "accel/provider.h"
#include "core/command.h"
#include "engine/engine.h"
#include "server/view.h"

namespace tessera::server {

// The images of all jobs that are not over.
std::vector<std::string> needed_images(const View& view);

class Observer {
 public:
  using Observe = std::function<void(core::Command command)>;

  // `running` names the containers that are known to have started (started_containers()).
  using Known = std::function<std::vector<core::Reconcile::Container>()>;
  Observer(engine::Engine& engine, std::vector<std::unique_ptr<accel::Provider>>& providers,
           Known running, Observe observe)
      : engine_(engine),
        providers_(providers),
        running_(std::move(running)),
        observe_(std::move(observe)) {}
  ~Observer() { stop(); }

  // Looks at node and accelerators once now; the error is the engine's.
  Status look();
  void start(Millis interval);
  void stop();

  // Asks the engine what it has and reports what is missing or too much.
  Status reconcile();

  // What the accelerators do now, by UUID; a sentence in `problems` for each vendor that cannot
  // tell. Blocks as long as a provider may.
  std::map<std::string, accel::Sample> sample(std::vector<std::string>& problems);

  // Gets a device ready for a container, by its vendor's provider. Any thread.
  Status prepare(const api::Accelerator& accelerator);

 private:
  engine::Engine& engine_;
  std::vector<std::unique_ptr<accel::Provider>>& providers_;
  Known running_;
  Observe observe_;
  std::mutex providers_mutex_;  // a provider takes one call at a time
  std::mutex mutex_;            // guards stopping_
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

// An engine's observation as the core's command.
core::Command to_command(const engine::Observation& observation);

// What an engine has, as the core's command.
core::Reconcile to_command(const std::vector<engine::Running>& containers);

// Containers that readers saw start and not end: if the engine does not know of one, it is lost.
std::vector<core::Reconcile::Container> started_containers(const View& view);

}  // namespace tessera::server
