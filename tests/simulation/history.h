#pragma once
// What the engine said of each attempt, written down before the server hears of it.

#include <map>
#include <set>

#include "engine/engine.h"

namespace tessera::simulation {

class History {
 public:
  void note(const engine::Observation& seen) {
    using What = engine::Observation::What;
    if (seen.what == What::kHealth) healths_[seen.ref].insert(seen.health);
    if (seen.what == What::kExited || seen.what == What::kStartFailed)
      ends_.insert_or_assign(seen.ref, seen);
  }
  // How the attempt ended; null when nobody was told.
  const engine::Observation* end_of(const engine::TaskRef& ref) const {
    auto found = ends_.find(ref);
    return found == ends_.end() ? nullptr : &found->second;
  }
  bool was_ever(const engine::TaskRef& ref, api::ContainerHealth health) const {
    auto found = healths_.find(ref);
    return found != healths_.end() && found->second.contains(health);
  }

 private:
  std::map<engine::TaskRef, engine::Observation> ends_;
  std::map<engine::TaskRef, std::set<api::ContainerHealth>> healths_;
};

}  // namespace tessera::simulation
