// A job of higher priority takes the place of others of its project that may be sent back to the
// queue (spec.requeue): as few as will do, those that lose the least work, and only if it can then
// really start. Strictly lower priorities only, so that whoever gave way cannot push back.

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "core/sched/actions/action.h"

namespace tessera::sched {

namespace {

// What gives way together: a gang, or one task of an array.
struct Unit {
  std::string name;
  int64_t priority = 0;
  int64_t lost = 0;  // milliseconds of whole devices since it began
  std::vector<const Holder*> tasks;
  bool ran_enough = true;
};

std::vector<Unit> units_below(const Pass& pass, const Request& request) {
  std::map<std::string, Unit> units;
  for (const std::string& task : pass.planner.preemptible(request.project)) {
    const Holder& holder = pass.planner.holders().at(task);
    if (holder.priority >= request.priority || pass.evicted.contains(task)) continue;
    Unit& unit = units[holder.gang ? holder.job : task];
    Millis ran = holder.since ? pass.now - *holder.since : Millis{0};
    unit.name = holder.job;
    unit.priority = holder.priority;
    unit.lost += ran.value * std::max<int64_t>(1, holder.charge.value / 1000);
    unit.ran_enough = unit.ran_enough && ran >= pass.policy.preempt_after;
    unit.tasks.push_back(&holder);
  }
  std::vector<Unit> out;
  for (Unit& unit : units | std::views::values)
    if (unit.ran_enough) out.push_back(std::move(unit));
  std::ranges::stable_sort(out, {}, [](const Unit& u) { return std::pair(u.priority, u.lost); });
  return out;
}

// Takes the unit's places back, or gives them to it again.
void lift(Cluster& cluster, const Unit& unit, bool away) {
  for (const Holder* holder : unit.tasks) {
    auto held = cluster.to_delta(holder->assignment, holder->project);
    if (!held) continue;
    if (away)
      cluster.give_back(*held);
    else
      cluster.take(*held);
  }
}

// The units without which the turn's tasks fit: none of them is there for nothing.
std::vector<Unit> choose(Pass& pass, const Turn& turn) {
  Board& board = pass.planner.board();
  auto fits = [&] { return board.has_places(turn.ask, turn.at_once(), pass.policy.placement); };
  std::vector<Unit> candidates = units_below(pass, turn.request), chosen;
  for (Unit& unit : candidates) {
    lift(board.cluster(), unit, true);
    chosen.push_back(std::move(unit));
    if (fits()) break;
  }
  if (chosen.empty() || !fits()) return {};
  // From the one whose loss would hurt most.
  for (size_t i = chosen.size(); i-- > 0;) {
    lift(board.cluster(), chosen[i], false);
    if (fits())
      chosen.erase(chosen.begin() + static_cast<int64_t>(i));
    else
      lift(board.cluster(), chosen[i], true);
  }
  return chosen;
}

int64_t leaving(const Pass& pass) {
  auto count = static_cast<int64_t>(pass.evicted.size());
  for (const std::string& task : pass.planner.ending())
    if (pass.planner.holders().at(task).stopping) ++count;
  return count;
}

void evict(Pass& pass, Turn& turn, const std::vector<Unit>& victims) {
  std::vector<std::string> names;
  for (const Unit& unit : victims) {
    names.push_back(unit.name);
    for (const Holder* holder : unit.tasks) {
      pass.plan.evictions.push_back({holder->assignment.task, unit.name, turn.request.job});
      pass.evicted.insert(holder->assignment.task);
    }
  }
  turn.makes_room = true;
  turn.reason = cat("starts when ", join(names, ", "),
                    names.size() == 1 ? " has made room for it" : " have made room for it");
}

bool act(Pass& pass, Turn& turn) {
  if (turn.hopeless || !turn.keeps_devices || pass.policy.preempt_most <= 0) return false;
  Board& board = pass.planner.board();
  Cluster::Mark mark = board.cluster().mark();
  for (const Freed& freed : expected_ends(pass, true)) board.cluster().give_back(freed.what);
  std::vector<Unit> victims;
  // Where those that leave already make room enough, nobody else has to.
  if (!board.has_places(turn.ask, turn.at_once(), pass.policy.placement))
    victims = choose(pass, turn);
  board.cluster().rollback(mark);
  int64_t tasks = 0;
  for (const Unit& unit : victims) tasks += static_cast<int64_t>(unit.tasks.size());
  if (tasks > 0 && leaving(pass) + tasks <= pass.policy.preempt_most) evict(pass, turn, victims);
  return false;
}

}  // namespace

const Action kPreempt{.name = "preempt", .act = act};

}  // namespace tessera::sched
