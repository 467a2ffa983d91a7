#include "core/sched/planner.h"

#include <algorithm>

#include "core/sched/pipeline.h"

namespace tessera::sched {

Planner::Planner(const Snapshot& snapshot) {
  set_nodes(snapshot.nodes);
  for (const auto& [name, project] : snapshot.projects) set_project(name, project.max);
  for (const Holder& holder : snapshot.holders) hold(holder);
  int64_t place = 0;
  for (const RequestPtr& request : snapshot.queue) queue.put({0, ++place, request->job}, request);
  arrivals_.restore(snapshot.arrivals);
  remix();
}

void Planner::set_nodes(std::vector<NodeView> nodes) {
  views_ = std::move(nodes);
  board_ = Board(Cluster(views_));
  idle_ = Board(Cluster(views_));
  hopeless_.clear();
  Cluster& cluster = board_.cluster();
  for (const auto& [task, holder] : holders_)
    if (auto held = cluster.to_delta(holder.assignment, holder.project)) cluster.take(*held);
  cluster.commit();
  remix();
}

bool Planner::replace_node(const NodeView& node) {
  Cluster& cluster = board_.cluster();
  if (!cluster.replace(node)) return false;
  idle_.cluster().replace(node);
  views_[static_cast<size_t>(cluster.find(node.name))] = node;
  hopeless_.clear();
  for (const auto& [task, holder] : holders_) {
    if (holder.assignment.node != node.name) continue;
    if (auto held = cluster.to_delta(holder.assignment, holder.project)) cluster.take(*held);
  }
  cluster.commit();
  return true;
}

void Planner::set_project(const std::string& name, std::optional<MilliGpu> max) {
  projects_[name].max = max;
}

ProjectView Planner::project(const std::string& name) const {
  auto found = projects_.find(name);
  return found == projects_.end() ? ProjectView{} : found->second;
}

// Keeps the indexes of those that may end; `holds`: it is a holder.
void Planner::index(const Holder& holder, bool holds) {
  const std::string& task = holder.assignment.task;
  auto keep = [&](std::set<std::string>& set, bool belongs) {
    if (belongs)
      set.insert(task);
    else
      set.erase(task);
  };
  keep(ending_, holds && (holder.end || holder.limit || holder.stopping));
  keep(preemptible_[holder.project], holds && holder.preemptible && !holder.stopping);
}

const std::set<std::string>& Planner::preemptible(const std::string& project) const {
  static const std::set<std::string> kNone;
  auto found = preemptible_.find(project);
  return found == preemptible_.end() ? kNone : found->second;
}

void Planner::hold(const Holder& holder) {
  const std::string& task = holder.assignment.task;
  auto known = holders_.find(task);
  if (known != holders_.end() && known->second.assignment == holder.assignment) {
    known->second = holder;
    index(holder, true);
    return;
  }
  release(task);
  holders_.emplace(task, holder);
  index(holder, true);
  projects_[holder.project].held += holder.charge;
  Cluster& cluster = board_.cluster();
  if (auto held = cluster.to_delta(holder.assignment, holder.project)) cluster.take(*held);
  cluster.commit();
}

void Planner::release(const std::string& task) {
  auto known = holders_.find(task);
  if (known == holders_.end()) return;
  const Holder& holder = known->second;
  index(holder, false);
  projects_[holder.project].held -= holder.charge;
  Cluster& cluster = board_.cluster();
  if (auto held = cluster.to_delta(holder.assignment, holder.project)) cluster.give_back(*held);
  cluster.commit();
  holders_.erase(known);
}

void Planner::arrived(const Demand& demand, int64_t tasks) {
  if (arrivals_.add(demand, tasks)) remix();
}

void Planner::remix() {
  board_.set_mix(make_mix(arrivals_.known(), board_.cluster().kinds()));
}

bool Planner::hopeless(const Shape& shape) {
  auto known = hopeless_.find(shape);
  if (known != hopeless_.end()) return known->second;
  // More would be a queue in which hardly two are alike: then they are of little use.
  constexpr size_t kRemembered = 4096;
  if (hopeless_.size() >= kRemembered) hopeless_.clear();
  Ask ask = make_ask(idle_.cluster(), shape.demand, shape.project);
  bool fits = idle_.has_places(ask, shape.tasks, Placement::kPack) ||
              idle_.has_places(ask, shape.tasks, Placement::kSpread);
  return hopeless_.emplace(shape, !fits).first->second;
}

Snapshot Planner::snapshot(Instant now) const {
  Snapshot out{.now = now,
               .nodes = views_,
               .queue = {},
               .projects = projects_,
               .holders = {},
               .arrivals = arrivals_.known()};
  out.queue.reserve(queue.size());
  for (const auto& [key, request] : queue.all()) out.queue.push_back(request);
  for (const auto& [task, holder] : holders_) out.holders.push_back(holder);
  return out;
}

Pass Planner::begin(const Policy& policy, Instant now) {
  return {.planner = *this,
          .policy = policy,
          .now = now,
          .plan = {},
          .closed = {},
          .cpu_head = {},
          .used = {}};
}

void Planner::end() {
  board_.cluster().rollback(0);
  board_.cluster().drop_holds();
}

namespace {

// How far a line has come.
struct Cursor {
  const Shape* shape = nullptr;
  Queue::Order::const_iterator at, end;
  std::optional<Ask> ask;  // made when it is first needed
};

// Whoever is over before a job is expected to start may use what is kept for it: backfill.
std::vector<bool> holds_passed(const Pass& pass, const Shape& shape) {
  std::vector<bool> out;
  for (const Hold& hold : pass.planner.board().cluster().holds())
    out.push_back(shape.limit && hold.until && pass.now + *shape.limit <= *hold.until);
  return out;
}

// Whether the line goes on.
bool take_turn(Pass& pass, Cursor& line) {
  const RequestPtr& request = line.at->second;
  if (!line.ask)
    line.ask = make_ask(pass.planner.board().cluster(), request->demand, request->project);
  line.ask->closed = pass.closed;
  line.ask->passes = holds_passed(pass, *line.shape);
  std::span<const std::string> tasks = request->tasks;
  if (request->slots)
    tasks = tasks.first(std::min(tasks.size(), static_cast<size_t>(*request->slots)));
  Turn turn{
      .request = *request, .ask = *line.ask, .shape = *line.shape, .tasks = tasks, .placed = {}};
  bool settled =
      std::ranges::any_of(actions(), [&](const Action* action) { return action->act(pass, turn); });
  if (!turn.placed.empty()) pass.plan.decisions.push_back({request->job, std::move(turn.placed)});
  auto text = [](std::string words) {
    return std::make_shared<const std::string>(std::move(words));
  };
  if (settled) {
    if (tasks.size() < request->tasks.size())
      pass.plan.waits.push_back({request, text(array_is_full(*request))});
    return true;
  }
  pass.plan.waits.push_back({request, text(std::move(turn.reason))});
  pass.plan.lines.push_back({*line.shape, text(std::move(turn.for_others))});
  return false;
}

}  // namespace

// The queue in its order, of each line only as many as start and the first that does not.
void Planner::walk(Pass& pass) {
  std::map<QueueKey, Cursor> heads;
  for (const auto& [shape, line] : queue.lines())
    heads.emplace(line.begin()->first, Cursor{&shape, line.begin(), line.end(), {}});
  while (!heads.empty()) {
    auto head = heads.extract(heads.begin());
    Cursor& line = head.mapped();
    if (!take_turn(pass, line) || ++line.at == line.end) continue;
    head.key() = line.at->first;
    heads.insert(std::move(head));
  }
}

LinePlan Planner::plan(const Policy& policy, Instant now) {
  Pass pass = begin(policy, now);
  walk(pass);
  end();
  return std::move(pass.plan);
}

std::vector<Wait> all_waits(const LinePlan& plan, const Queue& queue) {
  std::map<std::string_view, const Wait*> own;
  for (const Wait& wait : plan.waits) own.emplace(wait.request->job, &wait);
  std::map<Shape, std::shared_ptr<const std::string>, ShapeLess> lines;
  for (const LineWait& line : plan.lines) lines.emplace(line.shape, line.message);
  std::map<std::string_view, bool> started;
  for (const Decision& decision : plan.decisions) started.emplace(decision.job, true);
  std::vector<Wait> out;
  for (const auto& [key, request] : queue.all()) {
    if (auto wait = own.find(request->job); wait != own.end()) {
      out.push_back(*wait->second);
    } else if (std::string why = own_reason(*request); !why.empty()) {
      out.push_back({request, std::make_shared<const std::string>(std::move(why))});
    } else if (!started.contains(request->job)) {
      out.push_back({request, lines.at(shape_of(*request))});
    }
  }
  return out;
}

Plan plan(const Snapshot& snapshot, const Policy& policy, Rng) {
  Planner planner(snapshot);
  LinePlan lines = planner.plan(policy, snapshot.now);
  std::vector<Wait> waits = all_waits(lines, planner.queue);
  return {.decisions = std::move(lines.decisions),
          .evictions = std::move(lines.evictions),
          .waits = std::move(waits)};
}

}  // namespace tessera::sched
