// How a simulation comes to its end.

#include "base/text.h"
#include "final_checks.h"
#include "simulation.h"

namespace tessera::simulation {

namespace {
// Six hours of sleep, three retries with an hour of back-off and a day until removal fit well.
constexpr Millis kPatience{30LL * 24 * 3'600'000};
constexpr int kMostRounds = 1'000;  // dozens are usual
// What runs again and again never leaves a moment in which nothing is to come.
constexpr int kGiveUpEvery = 50;
}  // namespace

// Does all that can be done now. False when there was nothing.
bool Simulation::drain() {
  bool any = false;
  while (!failed()) {
    bool more = false;
    while (auto words = server_->effects.run_one(rng_, world_.now())) {
      note(*words);
      more = true;
    }
    auto deadline = server_->control.next_deadline();
    if (!server_->inbox.empty() || server_->committing || (deadline && *deadline <= world_.now())) {
      tick();
      more = true;
    }
    if (auto next = world_.next_event(); next && *next <= world_.now()) {
      world_.run_until(world_.now());
      more = true;
    }
    if (!more) return any;
    any = true;
  }
  return any;
}

std::optional<Instant> Simulation::next_moment() const {
  std::optional<Instant> out;
  for (auto moment :
       {world_.next_event(), server_->control.next_deadline(), server_->effects.next_due()})
    if (moment && (!out || *moment < *out)) out = moment;
  return out;
}

// Nothing is under way, nothing will happen by itself, and a look at the engine changes nothing.
bool Simulation::quiet() {
  if (next_moment()) return false;
  int64_t version = server_->control.state().version;
  auto outbox = server_->control.state().last_effect;
  observe();
  drain();
  return !next_moment() && server_->control.state().version == version &&
         server_->control.state().last_effect == outbox;
}

void Simulation::settle() {
  note("all trouble is over");
  world_.set_faults({});
  world_.set_ready(true, "");
  devices_.heal();
  disk_trouble_ = {};
  drain();
  for (Request& request : users_.give_up(server_->control.state()))
    server_->inbox.push_back(std::move(request));
  Instant patience = world_.now() + kPatience;
  bool rest = false;
  for (int round = 0; round < kMostRounds && !failed() && world_.now() < patience; ++round) {
    drain();
    if (round % kGiveUpEvery == kGiveUpEvery - 1)
      for (Request& request : users_.give_up(server_->control.state()))
        server_->inbox.push_back(std::move(request));
    if (auto next = next_moment())
      world_.run_until(*next);
    else if (auto more = users_.give_up(server_->control.state()); !more.empty())
      for (Request& request : more) server_->inbox.push_back(std::move(request));
    else if ((rest = quiet()))
      break;
  }
  if (failed()) return;
  if (!rest) fail({"it does not come to rest"});
  if (rng_.chance(25)) restart_at_rest();
  fail(check_usage());
  fail(check_at_rest({.state = server_->control.state(),
                      .view = server_->view,
                      .world = world_,
                      .engine = server_->engine,
                      .ledger = ledger_,
                      .history = history_,
                      .containers_were_lost = may_lose_}));
}

std::vector<std::string> Simulation::check_usage() const {
  auto ledger =
      server::read_usage(server_->store, server_->control.state().meters, {}, world_.now());
  if (!ledger.ok()) return {ledger.error().text()};
  return accountant_.compare(*ledger, world_.now());
}

// Nothing was under way, so a restart changes nothing.
void Simulation::restart_at_rest() {
  note("the server is restarted at rest");
  server_->engine.crash();
  core::State before = server_->control.state();
  boot();
  drain();
  if (!failed()) fail(compare(before, server_->control.state()));
}

}  // namespace tessera::simulation
