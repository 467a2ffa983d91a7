#pragma once
// The simulation's stand-in for server::EffectRunner's threads: one effect at a time, in the same
// order for each task and by the same rules, at moments that chance decides.

#include <deque>
#include <functional>
#include <map>

#include "base/rng.h"
#include "server/effects.h"

namespace tessera::simulation {

class EffectQueue {
 public:
  using Observe = std::function<void(core::Command command)>;

  EffectQueue(engine::Engine& engine, server::Prepare prepare, Observe observe, bool in_order)
      : engine_(engine),
        prepare_(std::move(prepare)),
        observe_(std::move(observe)),
        in_order_(in_order) {}

  void add(std::vector<server::Order> orders);
  // Carries out an effect of a task that chance picks among those with one that is due. Its words;
  // nullopt when none is due.
  std::optional<std::string> run_one(Rng& rng, Instant now);
  bool empty() const { return queues_.empty(); }
  std::optional<Instant> next_due() const;

 private:
  struct Pending {
    server::Order order;
    server::Patience patience;
    Instant due;
  };
  engine::Engine& engine_;
  server::Prepare prepare_;
  Observe observe_;
  bool in_order_;
  std::map<std::string, std::deque<Pending>> queues_;  // by task
};

}  // namespace tessera::simulation
