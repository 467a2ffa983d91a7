#pragma once
// The queue, in order, and in lines: requests of one shape get the same answer, so only the first
// of each line need be tried, and a long queue of few shapes costs no more than a short one.

#include <map>
#include <set>
#include <utility>

#include "core/sched/demand.h"

namespace tessera::sched {

struct QueueKey {  // the order of the queue
  int64_t minus_priority = 0;
  int64_t submission = 0;
  std::string job;
  auto operator<=>(const QueueKey&) const = default;
};

struct Shape {
  std::string project;
  size_t tasks = 0;  // placed at once
  Demand demand;
  std::optional<Millis> limit;  // rounded up
};
struct ShapeLess {
  bool operator()(const Shape& a, const Shape& b) const;
};
Shape shape_of(const Request& request);
bool same_shape(const Shape& a, const Shape& b);

// Why the request waits whatever is free; empty: it could start.
std::string own_reason(const Request& request);
// What an array says that runs as many tasks as it may.
std::string array_is_full(const Request& request);

class Queue {
 public:
  using Order = std::map<QueueKey, RequestPtr>;
  using Lines = std::map<Shape, Order, ShapeLess>;

  // In place of the job's earlier request.
  void put(QueueKey key, RequestPtr request);
  void erase(const std::string& job);

  const Order& all() const { return all_; }
  // Of those that could start.
  const Lines& lines() const { return lines_; }
  RequestPtr find(const std::string& job) const;  // null: it is not queued
  bool contains(const std::string& job) const { return keys_.contains(job); }
  size_t size() const { return all_.size(); }
  // Jobs that are new, or have another own_reason() or line, since this was last asked.
  std::set<std::string> take_moved() { return std::exchange(moved_, {}); }

 private:
  Order all_;
  std::map<std::string, QueueKey> keys_;  // by job
  Lines lines_;
  std::set<std::string> moved_;
};

}  // namespace tessera::sched
