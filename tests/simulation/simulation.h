#pragma once
// A whole Tessera in one thread: users, the control loop, the store, the planner and the engine of
// a simulated machine, under a virtual clock. Chance decides what happens next, and the seed
// decides chance: the same seed gives the same history.
//
// What the real server does on several threads (brain, effect workers, observer, the engine's own)
// happens here one piece at a time, in any order that the threads could produce.

#include "accountant.h"
#include "devices.h"
#include "effect_queue.h"
#include "engine/sim/sim_engine.h"
#include "flaky_store.h"
#include "history.h"
#include "server/observer.h"
#include "users.h"

namespace tessera::simulation {

class Simulation {
 public:
  explicit Simulation(const Options& options);
  // Trouble for so many steps, then all is let come to rest and looked at.
  Report run();

 private:
  // What a crash takes away. Each uses those above it.
  struct Server {
    explicit Server(Simulation& simulation);
    FlakyStore store;
    server::Control control;
    server::View view;
    engine::SimEngine engine;
    std::vector<std::unique_ptr<accel::Provider>> providers;
    server::Observer observer;
    EffectQueue effects;
    std::deque<Request> inbox;
    // The commands of a tick that the store did not take yet.
    std::vector<Request> uncommitted;
    bool committing = false;
    Instant ticked;  // the time of that tick
  };

  enum class Then { kGoOn, kCrashBeforeCommit, kCrashAfterCommit };

  // Steps. Each is something that one thread of the server, or the world, does.
  void step();
  void tick() { tick_and(Then::kGoOn); }
  void act();
  void carry_out();
  void tick_and(Then then);
  void pass_time();
  void observe();
  void check_health();
  void trouble();
  void trouble_disk();
  void crash_somewhere();

  // The server's life.
  void boot();
  bool try_boot();
  void crash();
  void finish(server::TickResult result);
  void publish(server::View::Publication publication, bool anew);
  void receive(core::Command command);
  void hear(const engine::Observation& seen);
  void meanwhile();  // what others do while the observer is at work

  // The end.
  void settle();
  bool drain();
  bool quiet();
  std::optional<Instant> next_moment() const;
  void restart_at_rest();

  void check();
  std::vector<std::string> check_usage() const;
  void fail(std::vector<std::string> violations);
  bool failed() const { return !report_.violations.empty(); }
  void note(std::string words) { report_.diary.note(world_.now(), std::move(words)); }
  void release_a_device();
  void act_before_commit();
  void forget_wishes();

  const Options options_;
  Report report_;
  Rng rng_;
  const bool may_lose_;  // containers may vanish in this run
  std::unique_ptr<store::Store> disk_ = store::open_memory().value();
  DiskTrouble disk_trouble_;
  engine::SimWorld world_;
  Devices devices_;
  Ledger ledger_;
  History history_;
  Accountant accountant_;
  Users users_;
  std::unique_ptr<Server> server_;
  int64_t published_ = 0;  // the last sequence that readers saw, of any server
};

}  // namespace tessera::simulation
