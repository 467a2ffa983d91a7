#pragma once
// All nodes by how well they suit one class of requests, best first; the earlier one on equal
// terms. A tournament tree: to change one node costs log(nodes), to ask for the best as much.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::sched {

class Ranking {
 public:
  explicit Ranking(size_t nodes);
  // Less is better.
  void set(size_t node, int64_t value);
  // All at once, which is cheaper than one by one.
  void set_all(const std::vector<int64_t>& values);
  bool empty() const { return nodes_ == 0; }
  int64_t best_value() const { return tree_[1]; }
  size_t best() const;

  uint64_t cursor = 0;  // into the cluster's changes: up to where it is right

 private:
  size_t nodes_;
  size_t leaves_ = 1;          // a power of two
  std::vector<int64_t> tree_;  // node i has children 2i and 2i + 1; the root is 1
};

}  // namespace tessera::sched
