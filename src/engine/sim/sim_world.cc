#include "engine/sim/sim_world.h"

#include "engine/sim/machine.h"

namespace tessera::engine {

SimWorld::SimWorld(const SimOptions& options) : machine_(std::make_shared<sim::Machine>(options)) {}

Instant SimWorld::now() const {
  auto lock = machine_->timeline().lock();
  return machine_->timeline().now();
}

void SimWorld::advance(Millis by) {
  run_until(now() + by);
}

void SimWorld::run_until(Instant end) {
  machine_->timeline().run_until(end);
}

std::optional<Instant> SimWorld::next_event() const {
  auto lock = machine_->timeline().lock();
  return machine_->timeline().next();
}

void SimWorld::set_faults(const SimFaults& faults) {
  auto lock = machine_->timeline().lock();
  machine_->set_faults(faults);
}

void SimWorld::script(SimFault fault, const std::string& task, int times) {
  auto lock = machine_->timeline().lock();
  machine_->script(fault, task, times);
}

void SimWorld::lose(const std::string& task) {
  auto lock = machine_->timeline().lock();
  machine_->lose(task);
}

void SimWorld::lose_all() {
  auto lock = machine_->timeline().lock();
  machine_->lose_all();
}

void SimWorld::set_ready(bool ready, const std::string& message) {
  auto lock = machine_->timeline().lock();
  machine_->set_ready(ready, message);
}

void SimWorld::release(const TaskRef& ref) {
  auto lock = machine_->timeline().lock();
  machine_->release(ref);
}

std::vector<std::string> SimWorld::violations() const {
  auto lock = machine_->timeline().lock();
  return machine_->books().violations();
}

std::map<TaskRef, int> SimWorld::starts() const {
  auto lock = machine_->timeline().lock();
  return machine_->books().starts();
}

std::set<TaskRef> SimWorld::live() const {
  auto lock = machine_->timeline().lock();
  return machine_->books().live();
}

std::map<std::string, std::set<TaskRef>> SimWorld::holders() const {
  auto lock = machine_->timeline().lock();
  return machine_->books().holders();
}

std::vector<Running> SimWorld::containers() const {
  auto lock = machine_->timeline().lock();
  return machine_->list();
}

}  // namespace tessera::engine
