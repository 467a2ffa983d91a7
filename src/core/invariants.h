#pragma once
// What must hold of every state, checked by code that shares nothing with what keeps it: the
// simulation runs it after each step, the server when it loads its store.

#include <string>
#include <vector>

#include "core/state.h"

namespace tessera::core {

// One sentence for each violation; empty when all is well.
std::vector<std::string> check_invariants(const State& state);

}  // namespace tessera::core
