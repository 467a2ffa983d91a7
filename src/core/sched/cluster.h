#pragma once
// What the nodes have free, as a plan tries it out. Everything that tasks take or give back is one
// kind of change, a Delta; each is noted, so that a trial can be rolled back, and so that whoever
// keeps something derived of the nodes (Ranking) need look only at those that changed.

#include <map>
#include <span>

#include "core/sched/demand.h"

namespace tessera::sched {

// What a task holds of one device, by the device's place in NodeView::devices.
struct Part {
  int device = 0;
  bool exclusive = true;
  MiB memory;
  Percent compute;
  bool operator==(const Part&) const = default;
};

// What a task holds of one node.
struct Delta {
  int node = -1;
  std::vector<Part> parts;
  MilliCpu cpus;
  MiB memory;
  std::string project;
  bool operator==(const Delta&) const = default;
};

// A promise of devices to a job that waits, made anew by each plan (actions/reserve.cc).
struct Hold {
  std::string job;
  std::optional<Instant> until;  // when the job is expected to start; unknown when empty
};
inline constexpr int kNotHeld = -1;

struct Node {
  NodeView view;
  std::vector<int> kinds;  // of each device: an index into Cluster::kinds()
  std::vector<int> holds;  // of each device: an index into Cluster::holds(), or kNotHeld
  int hold = kNotHeld;     // for which something of the node is kept
  MilliCpu spare_cpus;     // what that hold does not need once it is due
  MiB spare_memory;
  uint64_t stamp = 0;  // another after each change
};

class Cluster {
 public:
  Cluster() = default;
  explicit Cluster(std::span<const NodeView> nodes);  // in the order in which ties are broken

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Kind>& kinds() const { return kinds_; }
  const std::vector<Hold>& holds() const { return holds_; }
  int find(const std::string& name) const;  // -1: there is none
  // The node as it is now; only one that is known already, with the same kinds of devices.
  // False: the cluster has to be made anew.
  bool replace(const NodeView& node);

  void take(const Delta& delta) { change(delta, 1); }
  void give_back(const Delta& delta) { change(delta, -1); }

  // Trials: everything since the mark is undone, or stays.
  using Mark = size_t;
  Mark mark() const { return journal_.size(); }
  void rollback(Mark mark);
  void commit() { journal_.clear(); }

  // Keeps devices of a node for the hold, and of its host all but what is spare.
  int add_hold(Hold hold);
  void keep(int hold, const Delta& what, MilliCpu spare_cpus, MiB spare_memory);
  void drop_holds();

  // Nodes that changed since the cursor, oldest first, perhaps more than once; nullopt: so much has
  // changed that all must be looked at. The cursor is then moved to the end.
  std::optional<std::span<const int>> changed_since(uint64_t& cursor) const;

  // Both ways between a delta and what the plan says.
  Assignment to_assignment(const Delta& delta, const std::string& task) const;
  // Devices that are gone are left out; nullopt: the node is gone.
  std::optional<Delta> to_delta(const Assignment& assignment, const std::string& project) const;

 private:
  struct Entry {
    Delta delta;
    int64_t sign = 1;
  };
  void change(const Delta& delta, int64_t sign);
  void apply(const Delta& delta, int64_t sign);
  void note(int node);
  int kind_index(const Device& device);

  std::vector<Node> nodes_;
  std::map<std::string, int> by_name_;
  std::vector<Kind> kinds_;
  std::vector<Hold> holds_;
  std::vector<int> held_nodes_;
  std::vector<Entry> journal_;
  std::vector<int> log_;  // nodes that changed
  uint64_t log_begin_ = 0;
  uint64_t stamp_ = 0;
};

}  // namespace tessera::sched
