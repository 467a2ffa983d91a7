// A job that does not fit keeps what it waits for from those behind it: a large job is not
// overtaken for ever by small ones. Only of its pool: other models, and CPU jobs, are not held up.
//
// Where the ends of what runs are known, it keeps only the places that it will get, from the time
// at which it can have them: whoever is over by then, or needs none of them, may pass (backfill).
// Where they are not, any device may be the one that it will get, and it keeps all of the pool.

#include <algorithm>

#include "base/text.h"
#include "core/sched/actions/action.h"

namespace tessera::sched {

std::vector<Freed> expected_ends(const Pass& pass, bool only_leaving) {
  const Cluster& cluster = pass.planner.board().cluster();
  std::vector<Freed> out;
  auto add = [&](const Holder& holder, Instant at) {
    if (auto held = cluster.to_delta(holder.assignment, holder.project))
      out.push_back({at, std::move(*held)});
  };
  for (const std::string& task : pass.planner.ending()) {
    const Holder& holder = pass.planner.holders().at(task);
    if (holder.stopping)
      add(holder, pass.now + holder.grace);
    else if (!only_leaving && !pass.evicted.contains(task))
      add(holder, holder.end ? *holder.end : pass.now + *holder.limit);
  }
  for (const std::string& task : pass.evicted) {
    const Holder& holder = pass.planner.holders().at(task);
    add(holder, pass.now + holder.grace);
  }
  if (!only_leaving) out.insert(out.end(), pass.started.begin(), pass.started.end());
  std::ranges::stable_sort(out, {}, &Freed::at);
  return out;
}

namespace {

struct Start {
  Instant at;
  std::vector<Delta> places;
};

// The earliest time at which all of its tasks fit, as things are expected to go. The cluster is
// left as it will be then, for the caller to look at and roll back.
std::optional<Start> expected_start(Pass& pass, const Turn& turn) {
  // Ends that are looked at: with more to come before it, the time would be a guess.
  constexpr size_t kMostEnds = 10'000;
  Board& board = pass.planner.board();
  Start out;
  auto place_more = [&] {
    while (out.places.size() < turn.at_once()) {
      std::optional<Delta> place = board.best(turn.ask, pass.policy.placement);
      if (!place) return false;
      board.cluster().take(*place);
      out.places.push_back(std::move(*place));
    }
    return true;
  };
  place_more();
  std::vector<Freed> ends = expected_ends(pass, false);
  if (ends.size() > kMostEnds) ends.resize(kMostEnds);
  for (const Freed& freed : ends) {
    board.cluster().give_back(freed.what);
    out.at = freed.at;
    if (place_more()) return out;
  }
  return std::nullopt;
}

bool reserve(Pass& pass, Turn& turn) {
  Cluster& cluster = pass.planner.board().cluster();
  Cluster::Mark mark = cluster.mark();
  std::optional<Start> start = expected_start(pass, turn);
  struct Spare {
    MilliCpu cpus;
    MiB memory;
  };
  std::map<int, Spare> spare;
  for (const Delta& place : start ? start->places : std::vector<Delta>()) {
    const NodeView& node = cluster.nodes()[static_cast<size_t>(place.node)].view;
    spare[place.node] = {node.cpus_free, node.memory_free};
  }
  cluster.rollback(mark);
  if (!start) return false;
  int hold = cluster.add_hold({turn.request.job, start->at});
  for (const Delta& place : start->places)
    cluster.keep(hold, place, spare[place.node].cpus, spare[place.node].memory);
  for (size_t kind = 0; kind < turn.ask.kinds.size(); ++kind)
    if (turn.ask.kinds[kind].matches) pass.reserved.insert(static_cast<int>(kind));
  if (!turn.makes_room) turn.reason += cat("; expected to start by ", format_instant(start->at));
  return true;
}

// Named devices are kept one by one, else whole kinds.
void keep_all(Pass& pass, const Turn& turn) {
  Cluster& cluster = pass.planner.board().cluster();
  int hold = cluster.add_hold({turn.request.job, std::nullopt});
  const Ask& ask = turn.ask;
  if (ask.demand.selector.devices.empty()) {
    pass.closed.resize(cluster.kinds().size(), kNotHeld);
    for (size_t kind = 0; kind < ask.kinds.size(); ++kind)
      if (ask.kinds[kind].matches && pass.closed[kind] == kNotHeld) pass.closed[kind] = hold;
    return;
  }
  for (size_t i = 0; i < cluster.nodes().size(); ++i) {
    const Node& node = cluster.nodes()[i];
    Delta named{.node = static_cast<int>(i), .parts = {}, .project = {}};
    for (size_t d = 0; d < node.view.devices.size(); ++d)
      if (node.view.open && node.holds[d] == kNotHeld && matches(node.view.devices[d], ask.demand))
        named.parts.push_back({.device = static_cast<int>(d)});
    if (!named.parts.empty()) cluster.keep(hold, named, node.view.cpus_free, node.view.memory_free);
  }
}

// Only the first in each pool has a reservation: those behind it may pass each other.
bool has_reservation(const Pass& pass, const Ask& ask) {
  return std::ranges::any_of(
      pass.reserved, [&](int kind) { return ask.kinds[static_cast<size_t>(kind)].matches; });
}

bool act(Pass& pass, Turn& turn) {
  // Who cannot start whatever the others do keeps nothing from them.
  if (turn.hopeless) return false;
  if (turn.request.demand.devices == 0 && !pass.cpu_head) pass.cpu_head = turn.request.job;
  if (!turn.keeps_devices || has_reservation(pass, turn.ask)) return false;
  if (!reserve(pass, turn)) keep_all(pass, turn);
  return false;
}

}  // namespace

const Action kReserve{.name = "reserve", .act = act};

}  // namespace tessera::sched
