#pragma once
// Finds the best place for a task: filters, then scores, remembered for each class of requests in a
// Ranking, so that a decision looks only at nodes that changed since the class was last asked for.

#include <map>

#include "core/sched/filters/filter.h"
#include "core/sched/mix.h"
#include "core/sched/ranking.h"
#include "core/sched/scores/score.h"

namespace tessera::sched {

class Board {
 public:
  Board() = default;
  explicit Board(Cluster nodes) : cluster_(std::move(nodes)) {}

  Cluster& cluster() { return cluster_; }
  const Cluster& cluster() const { return cluster_; }
  void set_mix(Mix mix);

  // The best place; nullopt: there is none.
  std::optional<Delta> best(const Ask& ask, Placement placement);
  // The same, found by looking at every node anew: what benchmarks and tests compare with.
  std::optional<Delta> best_by_scan(const Ask& ask, Placement placement);

  // Whether there are places for so many tasks at once.
  bool has_places(const Ask& ask, size_t tasks, Placement placement);

  // What one node says.
  struct Answer {
    Obstacle obstacle = Obstacle::kNone;
    std::string reason;
    int holder = kNotHeld;  // of what is kept for a job ahead
  };
  Answer ask_node(size_t node, const Ask& ask) const;
  // The node that comes nearest to a start when best() has found none; nullopt: there is no node.
  std::optional<Answer> nearest(const Ask& ask, Placement placement);

 private:
  struct Remembered {
    Ranking ranking{0};
    uint64_t used = 0;
  };
  Ranking& ranking_of(const Ask& ask, Placement placement);
  void look_again(Ranking& ranking, const Ask& ask, Placement placement);
  // What the node is worth, less is better; from kBlocked on, it does not fit.
  int64_t judge(size_t node, const Ask& ask, Placement placement, Delta* chosen);
  int64_t potential_of(size_t node);

  Cluster cluster_;
  Mix mix_;
  struct Potential {
    uint64_t stamp = 0;
    int64_t value = 0;
  };
  std::vector<Potential> potentials_;  // of each node, right while the node's stamp is this
  std::map<AskKey, Remembered, AskKeyLess> rankings_;
  uint64_t uses_ = 0;
};

}  // namespace tessera::sched
