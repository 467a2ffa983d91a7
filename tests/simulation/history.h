#pragma once
// What the engine said of each attempt, written down before the server hears of it.

#include <map>

#include "engine/engine.h"

namespace tessera::simulation {

class History {
 public:
  void note(const engine::Observation& seen) {
    if (seen.what != engine::Observation::What::kStarted) ends_.insert_or_assign(seen.ref, seen);
  }
  // How the attempt ended; null when nobody was told.
  const engine::Observation* end_of(const engine::TaskRef& ref) const {
    auto found = ends_.find(ref);
    return found == ends_.end() ? nullptr : &found->second;
  }

 private:
  std::map<engine::TaskRef, engine::Observation> ends_;
};

}  // namespace tessera::simulation
