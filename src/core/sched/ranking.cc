#include "core/sched/ranking.h"

#include <algorithm>
#include <limits>

namespace tessera::sched {

namespace {
constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();
}

Ranking::Ranking(size_t nodes) : nodes_(nodes) {
  while (leaves_ < nodes) leaves_ *= 2;
  tree_.assign(2 * leaves_, kNobody);
}

void Ranking::set(size_t node, int64_t value) {
  size_t at = leaves_ + node;
  tree_[at] = value;
  for (at /= 2; at >= 1; at /= 2) {
    int64_t least = std::min(tree_[2 * at], tree_[2 * at + 1]);
    if (tree_[at] == least) return;
    tree_[at] = least;
  }
}

void Ranking::set_all(const std::vector<int64_t>& values) {
  std::ranges::copy(values, tree_.begin() + static_cast<int64_t>(leaves_));
  for (size_t at = leaves_ - 1; at >= 1; --at)
    tree_[at] = std::min(tree_[2 * at], tree_[2 * at + 1]);
}

size_t Ranking::best() const {
  size_t at = 1;
  while (at < leaves_) at = tree_[2 * at] == tree_[at] ? 2 * at : 2 * at + 1;
  return at - leaves_;
}

}  // namespace tessera::sched
