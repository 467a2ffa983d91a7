#include "core/sched/ask.h"

#include <algorithm>
#include <tuple>

namespace tessera::sched {

Ask make_ask(const Cluster& cluster, const Demand& demand, const std::string& project) {
  Ask ask{.demand = demand, .project = project, .closed = {}, .passes = {}, .kinds = {}};
  for (const Kind& kind : cluster.kinds()) {
    Ask::OfKind of{.matches = matches(kind, demand), .share = share_of(kind.memory, demand)};
    of.too_small = of.share.memory > kind.memory;
    ask.kinds.push_back(of);
  }
  return ask;
}

bool Ask::may_use(const Node& node, size_t device) const {
  auto kind = static_cast<size_t>(node.kinds[device]);
  if (kind < closed.size() && closed[kind] != kNotHeld) return false;
  return passes_hold(node.holds[device]);
}

AskKey key_of(const Ask& ask, Placement placement) {
  AskKey key{.demand = ask.demand,
             .project = ask.demand.sliced() ? ask.project : std::string(),
             .closed = {},
             .passes = ask.passes,
             .placement = placement};
  bool any = std::ranges::any_of(ask.closed, [](int hold) { return hold != kNotHeld; });
  if (any)
    for (int hold : ask.closed) key.closed.push_back(hold != kNotHeld);
  if (std::ranges::find(key.passes, true) == key.passes.end()) key.passes.clear();
  return key;
}

bool AskKeyLess::operator()(const AskKey& a, const AskKey& b) const {
  if (auto order = compare(a.demand, b.demand); order != 0) return order < 0;
  auto rest = [](const AskKey& k) { return std::tie(k.project, k.closed, k.passes, k.placement); };
  return rest(a) < rest(b);
}

}  // namespace tessera::sched
