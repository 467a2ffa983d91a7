// Starts what fits, gangs whole or not at all; else says what is in the way.

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "core/sched/actions/action.h"

namespace tessera::sched {

namespace {

std::string what(const Turn& turn) {
  std::string each = describe(turn.request.demand);
  size_t count = turn.at_once();
  return count > 1 ? cat(count, " × ", each, " at once") : each;
}

bool over_quota(Pass& pass, Turn& turn) {
  const Request& request = turn.request;
  ProjectView project = pass.planner.project(request.project);
  if (!project.max) return false;
  int64_t wanted = charge_of(request.demand).value * static_cast<int64_t>(turn.at_once());
  int64_t max = project.max->value, held = project.held.value + pass.used[request.project].value;
  if (wanted == 0 || held + wanted <= max) return false;
  turn.hopeless = wanted > max;
  std::string rule =
      cat("project ", request.project, " may hold ", format_milli(max), " accelerators");
  turn.reason =
      cat(rule, " and holds ", format_milli(held), "; this job needs ", format_milli(wanted));
  turn.for_others =
      turn.hopeless ? turn.reason : cat(rule, ", and others of it are ahead in the queue");
  return true;
}

void blame(Turn& turn, const Cluster& cluster, const std::optional<Board::Answer>& nearest) {
  std::string wanted = what(turn);
  if (!nearest) {
    turn.reason = cat("waits for ", wanted, ": there is no node");
    return;
  }
  switch (nearest->obstacle) {
    case Obstacle::kBehind:
      turn.reason = cat("waits for ", wanted, " behind job ",
                        cluster.holds()[static_cast<size_t>(nearest->holder)].job,
                        ", which is ahead in the queue");
      break;
    case Obstacle::kNeverFits:
      turn.reason = cat("no node can ever run it: it needs ", wanted, ", and ", nearest->reason);
      break;
    default:
      turn.reason = cat("waits for ", wanted, ": ", nearest->reason);
  }
  bool waits = nearest->obstacle < Obstacle::kClosed;
  turn.keeps_devices = waits && turn.request.demand.devices > 0;
  if (size_t others = cluster.nodes().size() - 1; others > 0)
    turn.reason += cat(" (and ", plural(static_cast<int64_t>(others), "other node"),
                       " cannot take it either)");
}

// Places these tasks or none; what is in the way is then in the turn.
std::vector<Delta> place(Pass& pass, Turn& turn, size_t count, Placement placement) {
  Board& board = pass.planner.board();
  Cluster& cluster = board.cluster();
  Cluster::Mark mark = cluster.mark();
  std::vector<Delta> out;
  while (out.size() < count) {
    std::optional<Delta> next = board.best(turn.ask, placement);
    if (!next) break;
    cluster.take(*next);
    out.push_back(std::move(*next));
  }
  if (out.size() == count) return out;
  blame(turn, cluster, board.nearest(turn.ask, placement));
  if (!out.empty())
    turn.reason = cat("waits for ", what(turn), ": ", out.size(), " of them would fit now");
  cluster.rollback(mark);
  return {};
}

std::vector<Delta> place_next(Pass& pass, Turn& turn) {
  size_t count = turn.at_once();
  std::vector<Delta> out = place(pass, turn, count, pass.policy.placement);
  // Packed slices may leave the last task of a gang with too few devices that have room, though
  // there is room enough: spread, each device keeps as much room as can be.
  const Demand& demand = turn.request.demand;
  bool may_spread = demand.sliced() && demand.devices > 1 && count > 1;
  if (!out.empty() || !may_spread || pass.policy.placement == Placement::kSpread) return out;
  std::string reason = turn.reason;
  out = place(pass, turn, count, Placement::kSpread);
  if (out.empty()) turn.reason = std::move(reason);
  return out;
}

// A job of CPU alone waits behind the first that lacks CPU: there is no telling them apart.
bool behind_cpu_job(const Pass& pass, Turn& turn) {
  if (turn.request.demand.devices > 0 || !pass.cpu_head) return false;
  turn.reason = cat("waits behind job ", *pass.cpu_head,
                    ", which is ahead in the queue and waits for CPU or memory");
  return true;
}

// Every device that would do is kept for a job ahead: no node need be asked.
bool behind_pool(Pass& pass, Turn& turn) {
  const Ask& ask = turn.ask;
  if (ask.demand.devices == 0 || ask.closed.empty()) return false;
  int holder = kNotHeld;
  for (size_t kind = 0; kind < ask.kinds.size(); ++kind) {
    if (!ask.kinds[kind].matches) continue;
    if (ask.closed[kind] == kNotHeld) return false;
    holder = ask.closed[kind];
  }
  if (holder == kNotHeld || pass.planner.hopeless(turn.shape)) return false;
  const Cluster& cluster = pass.planner.board().cluster();
  turn.reason =
      cat("waits for ", what(turn), " behind job ",
          cluster.holds()[static_cast<size_t>(holder)].job, ", which is ahead in the queue");
  return true;
}

bool act(Pass& pass, Turn& turn) {
  const Request& request = turn.request;
  while (!turn.tasks.empty()) {
    if (over_quota(pass, turn) || behind_cpu_job(pass, turn) || behind_pool(pass, turn)) break;
    std::vector<Delta> places = place_next(pass, turn);
    if (places.empty()) {
      turn.hopeless = pass.planner.hopeless(turn.shape);
      break;
    }
    for (const Delta& place : places) {
      const Cluster& cluster = pass.planner.board().cluster();
      turn.placed.push_back(cluster.to_assignment(place, turn.tasks.front()));
      turn.tasks = turn.tasks.subspan(1);
      if (turn.shape.limit) pass.started.push_back({pass.now + *turn.shape.limit, place});
      pass.used[request.project] += charge_of(request.demand);
    }
  }
  if (turn.for_others.empty())
    turn.for_others = turn.hopeless ? turn.reason
                                    : cat("waits for ", describe(request.demand),
                                          " behind others that are ahead in the queue");
  return turn.tasks.empty();
}

}  // namespace

const Action kAllocate{.name = "allocate", .act = act};

}  // namespace tessera::sched
