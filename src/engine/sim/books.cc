#include "engine/sim/books.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::engine::sim {

namespace {

std::string named(const TaskRef& ref) {
  return cat(ref.task, "/", ref.attempt);
}

MiB held_of(const Launch& launch, const std::string& device) {
  MiB sum;
  for (const api::Allocation& part : launch.allocations)
    if (part.accelerator == device) sum += part.memory;
  return sum;
}

bool holds_exclusively(const Launch& launch, const std::string& device) {
  return std::ranges::any_of(launch.allocations, [&](const api::Allocation& part) {
    return part.accelerator == device && part.exclusive;
  });
}

}  // namespace

void Books::started(const Launch& launch, Instant at) {
  check_attempts(launch.ref, at);
  ++starts_[launch.ref];
  int64_t& newest = newest_[launch.ref.task];
  newest = std::max(newest, launch.ref.attempt);
  live_[launch.ref] = launch;
  for (const api::Allocation& part : launch.allocations)
    holders_[part.accelerator].insert(launch.ref);
  for (size_t i = 0; i < launch.allocations.size(); ++i) check_device(launch, i, at);
}

void Books::ended(const TaskRef& ref) {
  auto found = live_.find(ref);
  if (found == live_.end()) return;
  for (const api::Allocation& part : found->second.allocations) {
    auto device = holders_.find(part.accelerator);
    if (device == holders_.end()) continue;
    device->second.erase(ref);
    if (device->second.empty()) holders_.erase(device);
  }
  live_.erase(found);
}

void Books::check_attempts(const TaskRef& ref, Instant at) {
  auto other = live_.lower_bound({ref.task, INT64_MIN});
  if (other != live_.end() && other->first.task == ref.task)
    violation(at, cat(named(ref), " was started while ", named(other->first), " is live"));
  auto newest = newest_.find(ref.task);
  if (newest != newest_.end() && newest->second > ref.attempt)
    violation(at, cat(named(ref), " was started after attempt ", newest->second));
}

void Books::check_device(const Launch& launch, size_t index, Instant at) {
  const std::string& device = launch.allocations[index].accelerator;
  bool exclusive = holds_exclusively(launch, device);
  MiB held;
  for (const TaskRef& ref : holders_[device]) {
    const Launch& holder = live_[ref];
    held += held_of(holder, device);
    if (ref == launch.ref) continue;
    if (exclusive || holds_exclusively(holder, device))
      violation(at, cat("device ", device, " is held exclusively, but by ", named(launch.ref),
                        " and ", named(ref)));
  }
  if (index >= launch.accelerators.size()) return;
  MiB memory = launch.accelerators[index].status.memory;
  if (memory.value > 0 && held > memory)
    violation(at, cat("device ", device, " has ", format_memory(memory), ", but ",
                      format_memory(held), " of it are held since ", named(launch.ref)));
}

void Books::violation(Instant at, std::string_view what) {
  violations_.push_back(cat(format_instant(at), " ", what));
}

std::set<TaskRef> Books::live() const {
  std::set<TaskRef> out;
  for (const auto& [ref, launch] : live_) out.insert(ref);
  return out;
}

std::map<std::string, std::set<TaskRef>> Books::holders() const {
  return holders_;
}

}  // namespace tessera::engine::sim
