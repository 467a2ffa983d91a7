#include "core/sched/board.h"

#include <algorithm>

#include "base/check.h"
#include "core/sched/pipeline.h"

namespace tessera::sched {

namespace {

// A value from here on is an obstacle and no score.
constexpr int64_t kBlocked = int64_t{1} << 60;

// Classes of requests that are remembered: each costs 16 bytes a node, and more than so many do not
// take turns within a plan.
constexpr size_t kRememberedClasses = 64;

Obstacle run_filters(Candidate& c, const Filter** stopped = nullptr) {
  for (const Filter* filter : filters()) {
    Obstacle obstacle = filter->check(c);
    if (obstacle == Obstacle::kNone) continue;
    if (stopped) *stopped = filter;
    return obstacle;
  }
  return Obstacle::kNone;
}

// Fullest first; when spreading, emptiest first; the lowest index on equal terms.
void sort_by_fullness(Candidate& c, bool emptiest_first) {
  int64_t sign = emptiest_first ? 1 : -1;
  const std::vector<Device>& devices = c.node->view.devices;
  std::ranges::stable_sort(c.free, {}, [&](int i) {
    const Device& device = devices[static_cast<size_t>(i)];
    return std::pair(sign * device.memory_held.value, sign * device.compute_held.value);
  });
}

// Sets of devices worth trying: for a slice of one device one of each state when the score tells
// them apart, else those that come first.
void for_each_choice(Candidate& c, Placement placement, auto&& visit) {
  const Demand& demand = c.ask->demand;
  if (demand.sliced()) sort_by_fullness(c, placement == Placement::kSpread);
  std::vector<Part> parts;
  for (int64_t i = 0; i < demand.devices; ++i)
    parts.push_back(part_of(c, c.free[static_cast<size_t>(i)]));
  std::ranges::sort(parts, {}, &Part::device);
  visit(parts);
  if (!demand.sliced() || demand.devices != 1 || !tries_devices(placement)) return;
  const Node& node = *c.node;
  auto state_of = [&](int i) {
    const Device& device = node.view.devices[static_cast<size_t>(i)];
    return std::tuple(node.kinds[static_cast<size_t>(i)], device.memory_held, device.compute_held);
  };
  for (size_t i = 1; i < c.free.size(); ++i) {
    if (state_of(c.free[i]) == state_of(c.free[i - 1])) continue;
    parts[0] = part_of(c, c.free[i]);
    visit(parts);
  }
}

}  // namespace

void Board::set_mix(Mix mix) {
  mix.version = mix_.version + 1;
  mix_ = std::move(mix);
  rankings_.clear();
  potentials_.clear();
}

int64_t Board::potential_of(size_t index) {
  potentials_.resize(cluster_.nodes().size());
  const Node& node = cluster_.nodes()[index];
  Potential& known = potentials_[index];
  if (known.stamp != node.stamp) known = {node.stamp, fragmentation(node, mix_)};
  return known.value;
}

int64_t Board::judge(size_t index, const Ask& ask, Placement placement, Delta* chosen) {
  Candidate c{.cluster = &cluster_, .node = &cluster_.nodes()[index], .ask = &ask, .free = {}};
  Obstacle obstacle = run_filters(c);
  if (obstacle != Obstacle::kNone) return kBlocked + static_cast<int64_t>(obstacle);
  std::span<const Weighted> scores = scores_of(placement);
  int64_t potential = tries_devices(placement) ? potential_of(index) : 0;
  // Where no choice is right for the host, the filter's answer was for the first devices only.
  int64_t best = kBlocked + static_cast<int64_t>(Obstacle::kCpu);
  HostShare free = host_free(*c.node, ask);
  Delta delta{.node = static_cast<int>(index), .parts = {}, .project = ask.project};
  for_each_choice(c, placement, [&](const std::vector<Part>& parts) {
    HostShare wanted = host_share(c.node->view, ask.demand, parts);
    if (wanted.cpus > free.cpus || wanted.memory > free.memory) return;
    delta.parts = parts;
    delta.cpus = wanted.cpus;
    delta.memory = wanted.memory;
    int64_t value = 0;
    for (const Weighted& one : scores)
      value += one.weight * one.score->value({*c.node, delta, mix_, potential});
    if (value >= best) return;
    best = value;
    if (chosen) *chosen = delta;
  });
  return best;
}

Ranking& Board::ranking_of(const Ask& ask, Placement placement) {
  AskKey key = key_of(ask, placement);
  auto found = rankings_.find(key);
  if (found == rankings_.end()) {
    if (rankings_.size() >= kRememberedClasses)
      rankings_.erase(std::ranges::min_element(
          rankings_, {}, [](const auto& entry) { return entry.second.used; }));
    found = rankings_.emplace(std::move(key), Remembered{.ranking = Ranking(0)}).first;
  }
  found->second.used = ++uses_;
  look_again(found->second.ranking, ask, placement);
  return found->second.ranking;
}

void Board::look_again(Ranking& ranking, const Ask& ask, Placement placement) {
  size_t nodes = cluster_.nodes().size();
  auto changed = cluster_.changed_since(ranking.cursor);
  if (ranking.empty() || !changed) {
    std::vector<int64_t> values(nodes);
    for (size_t i = 0; i < nodes; ++i) values[i] = judge(i, ask, placement, nullptr);
    uint64_t cursor = ranking.cursor;
    ranking = Ranking(nodes);
    ranking.cursor = cursor;
    ranking.set_all(values);
    return;
  }
  for (size_t i = 0; i < changed->size(); ++i) {
    int node = (*changed)[i];
    // The same node often changes many times in a row.
    if (i + 1 < changed->size() && (*changed)[i + 1] == node) continue;
    auto index = static_cast<size_t>(node);
    ranking.set(index, judge(index, ask, placement, nullptr));
  }
}

std::optional<Delta> Board::best(const Ask& ask, Placement placement) {
  if (cluster_.nodes().empty()) return std::nullopt;
  Ranking& ranking = ranking_of(ask, placement);
  if (ranking.best_value() >= kBlocked) return std::nullopt;
  Delta out;
  int64_t value = judge(ranking.best(), ask, placement, &out);
  CHECK(value == ranking.best_value());
  return out;
}

std::optional<Delta> Board::best_by_scan(const Ask& ask, Placement placement) {
  int64_t best = kBlocked;
  Delta out, one;
  for (size_t i = 0; i < cluster_.nodes().size(); ++i) {
    int64_t value = judge(i, ask, placement, &one);
    if (value >= best) continue;
    best = value;
    std::swap(out, one);
  }
  if (best == kBlocked) return std::nullopt;
  return out;
}

bool Board::has_places(const Ask& ask, size_t tasks, Placement placement) {
  Cluster::Mark mark = cluster_.mark();
  size_t found = 0;
  while (found < tasks) {
    std::optional<Delta> next = best(ask, placement);
    if (!next) break;
    cluster_.take(*next);
    ++found;
  }
  cluster_.rollback(mark);
  return found == tasks;
}

Board::Answer Board::ask_node(size_t index, const Ask& ask) const {
  Candidate c{.cluster = &cluster_, .node = &cluster_.nodes()[index], .ask = &ask, .free = {}};
  const Filter* stopped = nullptr;
  Answer out{.obstacle = run_filters(c, &stopped), .reason = {}};
  if (stopped) out.reason = stopped->tell(c, out.obstacle);
  if (out.obstacle == Obstacle::kBehind) out.holder = c.holder;
  return out;
}

std::optional<Board::Answer> Board::nearest(const Ask& ask, Placement placement) {
  if (cluster_.nodes().empty()) return std::nullopt;
  return ask_node(ranking_of(ask, placement).best(), ask);
}

}  // namespace tessera::sched
