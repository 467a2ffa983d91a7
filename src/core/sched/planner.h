#pragma once
// The planner with what it knows: kept up to date change by change, so that a plan costs what
// changed and not what there is. Made anew from a snapshot it plans the same (planner_test.cc).

#include <map>

#include "core/sched/board.h"
#include "core/sched/queue.h"

namespace tessera::sched {

struct Pass;

// What a plan says of a line: all of it waits, but for those that have a reason of their own.
struct LineWait {
  Shape shape;
  std::shared_ptr<const std::string> message;
};
struct LinePlan {
  std::vector<Decision> decisions;
  std::vector<Eviction> evictions;
  std::vector<Wait> waits;  // each line's first, and arrays that run as much as they may
  std::vector<LineWait> lines;
};

class Planner {
 public:
  Planner() = default;
  explicit Planner(const Snapshot& snapshot);

  // Facts. Nodes by name, without what is held; a new or a missing one makes the cluster anew.
  void set_nodes(std::vector<NodeView> nodes);
  bool replace_node(const NodeView& node);  // false: call set_nodes()
  void set_project(const std::string& name, std::optional<MilliGpu> max);
  void erase_project(const std::string& name) { projects_.erase(name); }
  // The task holds this from now on, instead of what it held before.
  void hold(const Holder& holder);
  void release(const std::string& task);
  void arrived(const Demand& demand, int64_t tasks);
  Queue queue;

  LinePlan plan(const Policy& policy, Instant now);
  // The facts as a value.
  Snapshot snapshot(Instant now) const;
  // Why a job waits and what would help.
  Explanation explain(const Policy& policy, Instant now, const std::string& job);

  // For the actions.
  Board& board() { return board_; }
  ProjectView project(const std::string& name) const;
  // Whether requests of this shape would wait even if nothing ran.
  bool hopeless(const Shape& shape);
  const std::map<std::string, Holder>& holders() const { return holders_; }
  // Tasks whose end is known, or is once they run, or that are on their way out.
  const std::set<std::string>& ending() const { return ending_; }
  // Tasks of the project that may be sent back to the queue.
  const std::set<std::string>& preemptible(const std::string& project) const;

 private:
  Pass begin(const Policy& policy, Instant now);
  void walk(Pass& pass);
  void end();
  void remix();
  void index(const Holder& holder, bool holds);

  std::vector<NodeView> views_;  // without what is held
  Board board_;
  Board idle_;  // as if nothing ran
  std::map<Shape, bool, ShapeLess> hopeless_;
  std::map<std::string, ProjectView> projects_;
  std::map<std::string, Holder> holders_;  // by task
  std::set<std::string> ending_;
  std::map<std::string, std::set<std::string>> preemptible_;  // by project
  Arrivals arrivals_;
};

// Every request's reason, in queue order.
std::vector<Wait> all_waits(const LinePlan& plan, const Queue& queue);

}  // namespace tessera::sched
