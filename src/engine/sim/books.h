#pragma once
// An account of a simulated machine that is kept apart from what runs it, for checkers: who holds
// which device, what was started how often, and every breach of the rules that no server may break.

#include <set>

#include "engine/engine.h"

namespace tessera::engine::sim {

class Books {
 public:
  void started(const Launch& launch, Instant at);
  void ended(const TaskRef& ref);

  // One sentence each: a device held by two live containers, one of them exclusively; slices beyond
  // the memory of their device; two live attempts of a task; an attempt started after a newer one.
  const std::vector<std::string>& violations() const { return violations_; }
  // How often each attempt was started.
  const std::map<TaskRef, int>& starts() const { return starts_; }
  std::set<TaskRef> live() const;
  // Who holds a part of each device now, by UUID.
  std::map<std::string, std::set<TaskRef>> holders() const;

 private:
  void check_attempts(const TaskRef& ref, Instant at);
  void check_device(const Launch& launch, size_t index, Instant at);
  void violation(Instant at, std::string_view what);

  std::map<TaskRef, Launch> live_;
  std::map<std::string, std::set<TaskRef>> holders_;
  std::map<TaskRef, int> starts_;
  std::map<std::string, int64_t> newest_;  // attempt that was started, by task
  std::vector<std::string> violations_;
};

}  // namespace tessera::engine::sim
