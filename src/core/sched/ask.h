#pragma once
// A demand made ready for looking at many nodes: what is the same for every device of a kind is
// found once. Requests with the same key get the same answer from every node.

#include "core/sched/cluster.h"

namespace tessera::sched {

struct Ask {
  Demand demand;
  std::string project;
  // By kind, an index into Cluster::holds(): the whole kind is kept for that job; or kNotHeld.
  std::vector<int> closed;
  // By hold: it is over before the hold is due, and so may use what is kept.
  std::vector<bool> passes;

  struct OfKind {
    bool matches = false;
    bool too_small = false;
    Share share;
  };
  std::vector<OfKind> kinds;

  bool may_use(const Node& node, size_t device) const;
  bool passes_hold(int hold) const {
    return hold == kNotHeld ||
           (static_cast<size_t>(hold) < passes.size() && passes[static_cast<size_t>(hold)]);
  }
};

Ask make_ask(const Cluster& cluster, const Demand& demand, const std::string& project);

// The key of a Ranking: what nodes answer depends on nothing else.
struct AskKey {
  Demand demand;
  std::string project;  // only of slices: they share devices within their project
  std::vector<bool> closed;
  std::vector<bool> passes;
  Placement placement = Placement::kFragmentation;
};
AskKey key_of(const Ask& ask, Placement placement);
struct AskKeyLess {
  bool operator()(const AskKey& a, const AskKey& b) const;
};

}  // namespace tessera::sched
