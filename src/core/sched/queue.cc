#include "core/sched/queue.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/text.h"

namespace tessera::sched {

namespace {

// Up to the next of four steps between powers of two: limits that are nearly alike share a line.
Millis rounded_up(Millis limit) {
  auto ms = static_cast<uint64_t>(std::max<int64_t>(1, limit.value));
  uint64_t step = std::max<uint64_t>(1, std::bit_floor(ms) / 4);
  return {static_cast<int64_t>((ms + step - 1) / step * step)};
}

}  // namespace

Shape shape_of(const Request& request) {
  return {.project = request.project,
          .tasks = request.gang ? request.tasks.size() : 1,
          .demand = request.demand,
          .limit = request.limit ? std::optional(rounded_up(*request.limit)) : std::nullopt};
}

bool ShapeLess::operator()(const Shape& a, const Shape& b) const {
  auto rest = [](const Shape& s) { return std::tie(s.project, s.tasks, s.limit); };
  if (auto order = rest(a) <=> rest(b); order != 0) return order < 0;
  return compare(a.demand, b.demand) < 0;
}

bool same_shape(const Shape& a, const Shape& b) {
  return !ShapeLess{}(a, b) && !ShapeLess{}(b, a);
}

std::string array_is_full(const Request& request) {
  return cat("its array runs at most ", plural(*request.parallel, "task"), " at a time");
}

std::string own_reason(const Request& request) {
  if (!request.blocked.empty()) return request.blocked;
  if (!request.ready) return "waits for the rest of its gang to stop";
  if (request.not_before)
    return cat(request.failed_before ? "failed before; tries again at " : "does not start before ",
               format_instant(*request.not_before));
  if (request.slots == 0) return array_is_full(request);
  return request.tasks.empty() ? "waits for its tasks to stop" : "";
}

void Queue::put(QueueKey key, RequestPtr request) {
  std::string reason = own_reason(*request);
  RequestPtr before = find(request->job);
  bool moved = !before || own_reason(*before) != reason ||
               !same_shape(shape_of(*before), shape_of(*request));
  if (moved) moved_.insert(request->job);
  erase(request->job);
  if (reason.empty()) lines_[shape_of(*request)].emplace(key, request);
  keys_.emplace(request->job, key);
  all_.emplace(std::move(key), std::move(request));
}

void Queue::erase(const std::string& job) {
  auto known = keys_.find(job);
  if (known == keys_.end()) return;
  auto entry = all_.find(known->second);
  if (auto line = lines_.find(shape_of(*entry->second)); line != lines_.end()) {
    line->second.erase(known->second);
    if (line->second.empty()) lines_.erase(line);
  }
  all_.erase(entry);
  keys_.erase(known);
}

RequestPtr Queue::find(const std::string& job) const {
  auto known = keys_.find(job);
  return known == keys_.end() ? nullptr : all_.at(known->second);
}

}  // namespace tessera::sched
