#include "server/observer.h"

#include <chrono>
#include <set>

#include "base/log.h"
#include "base/text.h"
#include "core/state.h"

namespace tessera::server {

core::Command to_command(const engine::Observation& observation) {
  using What = engine::Observation::What;
  const engine::TaskRef& ref = observation.ref;
  switch (observation.what) {
    case What::kStarted:
      return core::TaskStarted{ref.task, ref.attempt, observation.ports};
    case What::kHealth:
      return core::TaskHealth{ref.task, ref.attempt, observation.health, observation.message};
    case What::kExited:
      return core::TaskExited{ref.task,
                              ref.attempt,
                              observation.exit_code,
                              observation.oom_killed,
                              observation.reason == api::Reason::kLost,
                              observation.message};
    case What::kStartFailed:
      return core::TaskStartFailed{.task = ref.task,
                                   .attempt = ref.attempt,
                                   .reason = observation.reason,
                                   .message = observation.message,
                                   .passing = observation.passing};
  }
  CHECK(false);
}

core::Reconcile to_command(const std::vector<engine::Running>& containers) {
  core::Reconcile out;
  for (const engine::Running& container : containers) {
    out.containers.push_back({container.ref.task, container.ref.attempt});
    if (container.started)
      out.started.push_back({container.ref.task, container.ref.attempt, container.ports});
  }
  return out;
}

std::vector<core::Reconcile::Container> started_containers(const View& view) {
  std::vector<core::Reconcile::Container> out;
  for (const EntryPtr& entry : view.list_live(std::string(core::kTaskKind))) {
    Value tree = entry->tree();
    std::string phase = tree.text("phase");
    const Value* attempt = tree.find("attempt");
    bool started = tree.find("startTime") && attempt && attempt->integer();
    if (started && (phase == "Running" || phase == "Stopping"))
      out.push_back({entry->key, *attempt->integer()});
  }
  return out;
}

std::vector<std::string> needed_images(const View& view) {
  std::set<std::string> out;
  for (const EntryPtr& entry : view.list_live(std::string(core::kJobKind))) {
    Value tree = entry->tree();
    if (const Value* spec = tree.find("spec")) out.insert(spec->text("image"));
  }
  return {out.begin(), out.end()};
}

Status Observer::look() {
  TRY(api::Node node, engine_.node());
  core::ObserveAccelerators seen{node.metadata.name, {}};
  std::vector<std::string> problems;
  {
    std::lock_guard lock(providers_mutex_);
    for (const auto& provider : providers_) {
      Result<accel::Inventory> inventory = provider->scan();
      if (!inventory.ok()) {
        problems.push_back(cat(provider->vendor(), ": ", inventory.error().text()));
        continue;
      }
      for (api::Accelerator& device : inventory->accelerators) {
        device.status.node = node.metadata.name;
        seen.accelerators.push_back(std::move(device));
      }
      for (std::string& problem : inventory->problems) problems.push_back(std::move(problem));
    }
  }
  if (!problems.empty()) node.status.message = join(problems, "; ");
  observe_(core::ObserveNode{std::move(node)});
  observe_(std::move(seen));
  return Ok;
}

Status Observer::reconcile() {
  std::vector<core::Reconcile::Container> known = running_();  // before the engine is asked
  TRY(std::vector<engine::Running> present, engine_.list());
  core::Reconcile reconcile = to_command(present);
  reconcile.known = std::move(known);
  observe_(std::move(reconcile));
  return Ok;
}

void Observer::start(Millis interval) {
  thread_ = std::thread([this, interval] {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(interval.value),
                           [&] { return stopping_; })) {
      lock.unlock();
      Status status = look();
      if (status.ok()) status = reconcile();
      if (!status.ok()) log::warn(cat("cannot look at the node: ", status.error().text()));
      lock.lock();
    }
  });
}

void Observer::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::map<std::string, accel::Sample> Observer::sample(std::vector<std::string>& problems) {
  std::map<std::string, accel::Sample> out;
  std::lock_guard lock(providers_mutex_);
  for (const auto& provider : providers_) {
    auto samples = provider->sample();
    if (!samples.ok()) {
      problems.push_back(cat(provider->vendor(), ": ", samples.error().text()));
      continue;
    }
    for (accel::Sample& sample : *samples) {
      std::string uuid = sample.uuid;
      out.emplace(std::move(uuid), std::move(sample));
    }
  }
  return out;
}

Status Observer::prepare(const api::Accelerator& accelerator) {
  std::lock_guard lock(providers_mutex_);
  for (const auto& provider : providers_)
    if (provider->vendor() == accelerator.status.vendor) return provider->prepare(accelerator);
  return error(Code::kUnavailable,
               cat("this server has no provider for accelerators of ", accelerator.status.vendor));
}

}  // namespace tessera::server
