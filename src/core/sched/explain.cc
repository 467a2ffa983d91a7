// For `why`: a plan, then every node's answer to one job and what would let it start.

#include <algorithm>

#include "base/text.h"
#include "core/sched/pipeline.h"

namespace tessera::sched {

namespace {

// As things stand in the pass, but for what is kept for the job itself.
Ask ask_for_itself(const Pass& pass, const Request& request, const Demand& demand) {
  const Cluster& cluster = pass.planner.board().cluster();
  Ask ask = make_ask(cluster, demand, request.project);
  for (const Hold& hold : cluster.holds()) ask.passes.push_back(hold.job == request.job);
  ask.closed = pass.closed;
  for (int& hold : ask.closed)
    if (ask.passes_hold(hold)) hold = kNotHeld;
  return ask;
}

bool starts_with(const Pass& pass, const Request& request, const Demand& demand) {
  size_t tasks = request.gang ? request.tasks.size() : 1;
  return pass.planner.board().has_places(ask_for_itself(pass, request, demand), tasks,
                                         pass.policy.placement);
}

// The smallest change that would start it now.
std::vector<std::string> remedies(const Pass& pass, const Request& request) {
  std::vector<std::string> out;
  for (int64_t fewer = request.demand.devices - 1; fewer >= 1; --fewer) {
    Demand smaller = request.demand;
    smaller.devices = fewer;
    if (!starts_with(pass, request, smaller)) continue;
    out.push_back(cat("with ", plural(fewer, "accelerator"), " instead of ", request.demand.devices,
                      " it would start now"));
    break;
  }
  const api::AcceleratorSelector& selector = request.demand.selector;
  if (selector.model.empty() && selector.vendor.empty()) return out;
  Demand any = request.demand;
  any.selector.model.clear();
  any.selector.vendor.clear();
  if (starts_with(pass, request, any))
    out.emplace_back("with any model of accelerator it would start now");
  return out;
}

std::vector<std::string> answers(const Pass& pass, const Request& request) {
  const Board& board = pass.planner.board();
  Ask ask = ask_for_itself(pass, request, request.demand);
  std::vector<std::string> out;
  for (size_t i = 0; i < board.cluster().nodes().size(); ++i) {
    Board::Answer answer = board.ask_node(i, ask);
    if (answer.obstacle != Obstacle::kNone) out.push_back(std::move(answer.reason));
  }
  return out;
}

// Empty: it starts.
std::string why(const LinePlan& plan, const Request& request) {
  if (std::string own = own_reason(request); !own.empty()) return own;
  for (const Wait& wait : plan.waits)
    if (wait.request->job == request.job) return *wait.message;
  for (const Decision& decision : plan.decisions)
    if (decision.job == request.job) return {};
  for (const LineWait& line : plan.lines)
    if (same_shape(line.shape, shape_of(request))) return *line.message;
  return {};
}

// 1: none that waits is ahead.
int64_t position(const LinePlan& plan, const Queue& queue, const std::string& job) {
  std::set<std::string_view> started;
  for (const Decision& decision : plan.decisions) started.insert(decision.job);
  for (const Wait& wait : plan.waits) started.erase(wait.request->job);
  int64_t ahead = 0;
  for (const auto& [key, request] : queue.all()) {
    if (request->job == job) break;
    if (!started.contains(request->job)) ++ahead;
  }
  return ahead + 1;
}

}  // namespace

Explanation Planner::explain(const Policy& policy, Instant now, const std::string& job) {
  Explanation out;
  Pass pass = begin(policy, now);
  walk(pass);
  RequestPtr request = queue.find(job);
  if (request) out.message = why(pass.plan, *request);
  if (!out.message.empty()) {
    out.position = position(pass.plan, queue, job);
    if (own_reason(*request).empty()) {
      out.details = answers(pass, *request);
      out.remedies = remedies(pass, *request);
    }
  }
  end();
  return out;
}

Explanation explain(const Snapshot& snapshot, const Policy& policy, Rng, const std::string& job) {
  return Planner(snapshot).explain(policy, snapshot.now, job);
}

}  // namespace tessera::sched
