#pragma once
// What must be true when all trouble is over and nothing moves any more.

#include "engine/sim/sim_engine.h"
#include "history.h"
#include "ledger.h"
#include "server/view.h"

namespace tessera::simulation {

struct Scene {
  const core::State& state;
  const server::View& view;
  const engine::SimWorld& world;
  engine::Engine& engine;
  const Ledger& ledger;
  const History& history;
  bool containers_were_lost = false;  // so an attempt may have been started more than once
};

// One sentence for each thing that is wrong.
std::vector<std::string> check_at_rest(const Scene& scene);

// Whether the server was told what it believes of attempts that are over. Holds at any time.
std::vector<std::string> check_told(const core::State& state, const History& history);

// Whether what runs keeps to what users asked for. Holds at any time.
std::vector<std::string> check_wishes(const core::State& state, const Ledger& ledger);

// Differences between what a server held and what its successor found in the store.
std::vector<std::string> compare(const core::State& before, const core::State& loaded);

}  // namespace tessera::simulation
