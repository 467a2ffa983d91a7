#include "core/sched/plan.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/check.h"
#include "base/text.h"
#include "core/sched/fit.h"

namespace tessera::sched {

Demand demand_of(const api::Resources& resources) {
  Demand demand;
  demand.selector = resources.accelerator.value_or(api::AcceleratorSelector{});
  demand.cpus = resources.cpus;
  demand.memory = resources.memory;
  demand.slice_memory = resources.gpuMemory;
  demand.slice_compute = resources.gpuCompute;
  int64_t milli = resources.gpus ? resources.gpus->value : demand.sliced() ? 1000 : 0;
  if (!resources.gpus && !demand.selector.devices.empty())
    milli = static_cast<int64_t>(demand.selector.devices.size()) * 1000;
  if (milli > 0 && milli < 1000) demand.fraction = MilliGpu{milli};
  demand.devices = (milli + 999) / 1000;
  return demand;
}

std::string describe(const Demand& demand) {
  if (demand.devices == 0) {
    std::string cpus = demand.cpus ? cat(format_milli(demand.cpus->value), " CPUs") : "CPU";
    return demand.memory ? cat(cpus, " and ", format_memory(*demand.memory), " of memory")
                         : cat(cpus, " and memory");
  }
  std::string model = demand.selector.model.empty() ? "" : cat(demand.selector.model, " ");
  std::string devices = plural(demand.devices, cat(model, "accelerator"));
  if (demand.fraction)
    return cat(format_milli(demand.fraction->value), " of an ", model, "accelerator");
  if (demand.slice_memory)
    return cat("a slice of ", format_memory(*demand.slice_memory), " on ", devices);
  if (demand.slice_compute)
    return cat("a slice of ", demand.slice_compute->value, " % of ", devices);
  return devices;
}

namespace {

// The working copy that a plan is tried on: what is free after the decisions so far.
class Board {
 public:
  Board(const Snapshot& snapshot, const Policy& policy)
      : policy_(policy), nodes_(snapshot.nodes), projects_(snapshot.projects) {}

  struct Outcome {
    std::vector<Assignment> placed;    // all tasks, or none
    std::string reason;                // when none
    std::vector<std::string> details;  // one line a node
    bool hopeless = false;             // no node will ever do
    bool keeps_devices = false;        // worth keeping devices for, from those behind it
  };

  using Tasks = std::span<const std::string>;

  // Places all of these tasks of the request or none.
  Outcome place(const Request& request, Tasks tasks) {
    Outcome out = place_by(policy_, request, tasks);
    // Packed slices may leave the last task of a gang with too few devices that have room, though
    // there is room enough: spread, each device keeps as much room as can be.
    const Demand& demand = request.demand;
    bool may_spread = demand.sliced() && demand.devices > 1 && tasks.size() > 1;
    if (out.placed.empty() && may_spread && policy_.packing == Packing::kPack) {
      Outcome spread = place_by({Packing::kSpread}, request, tasks);
      if (!spread.placed.empty()) return spread;
    }
    return out;
  }

  // Keeps every device that the request could use from those behind it in the queue.
  void hold_for(const Request& request) {
    for (const NodeView& node : nodes_) {
      if (!node.open) continue;
      for (const Device& device : node.devices)
        if (matches(device, request.demand)) holds_.emplace(device.uuid, request.job);
    }
  }

  // As it would be if nothing ran and nobody were ahead: what does not fit here never will.
  Board idle() const {
    Board out = *this;
    out.holds_.clear();
    for (auto& [name, project] : out.projects_) project.held = {};
    for (NodeView& node : out.nodes_) {
      node.cpus_free = node.cpus;
      node.memory_free = node.memory;
      for (Device& device : node.devices) {
        device.exclusive = false;
        device.memory_held = {};
        device.compute_held = {};
        device.project.clear();
      }
    }
    return out;
  }

 private:
  Outcome place_by(const Policy& policy, const Request& request, Tasks tasks) {
    Outcome out;
    auto count = static_cast<int64_t>(tasks.size());
    if (over_quota(request, count, out)) return out;
    for (const std::string& task : tasks) {
      std::vector<Fit> fits;
      int best = best_fit(policy, request, fits);
      if (best < 0) {
        explain(what(request, count), request, fits, out);
        if (!out.placed.empty())
          out.reason = cat("waits for ", what(request, count), ": ", out.placed.size(),
                           " of them would fit now");
        for (const Assignment& undone : out.placed) take(request, undone, -1);
        out.placed.clear();
        return out;
      }
      Assignment assignment = std::move(fits[static_cast<size_t>(best)].assignment);
      assignment.task = task;
      take(request, assignment, 1);
      out.placed.push_back(std::move(assignment));
    }
    return out;
  }

  static std::string what(const Request& request, int64_t count) {
    std::string each = describe(request.demand);
    return count > 1 ? cat(count, " × ", each, " at once") : each;
  }

  bool over_quota(const Request& request, int64_t count, Outcome& out) const {
    auto project = projects_.find(request.project);
    if (project == projects_.end() || !project->second.max) return false;
    int64_t wanted = 1000 * request.demand.devices;
    if (request.demand.fraction) wanted = request.demand.fraction->value;
    wanted *= count;
    int64_t max = project->second.max->value, held = project->second.held.value;
    if (wanted == 0 || held + wanted <= max) return false;
    out.hopeless = wanted > max;
    out.reason = cat("project ", request.project, " may hold ", format_milli(max),
                     " accelerators and holds ", format_milli(held), "; this job needs ",
                     format_milli(wanted));
    return true;
  }

  // Index of the node to take, or -1. Packing prefers the node with the fewest idle devices left,
  // so that large holes stay for large jobs; CPU jobs then go where there are no devices to keep
  // busy.
  int best_fit(const Policy& policy, const Request& request, std::vector<Fit>& fits) const {
    int best = -1;
    std::pair<int64_t, int64_t> best_score;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      fits.push_back(fit(nodes_[i], request, policy, holds_));
      if (fits.back().obstacle != Obstacle::kNone) continue;
      auto idle = std::count_if(nodes_[i].devices.begin(), nodes_[i].devices.end(),
                                [](const Device& d) { return d.idle() && d.healthy; });
      std::pair<int64_t, int64_t> score{idle, nodes_[i].cpus_free.value};
      if (policy.packing == Packing::kSpread) score = {-score.first, -score.second};
      if (best < 0 || score < best_score) {
        best = static_cast<int>(i);
        best_score = score;
      }
    }
    return best;
  }

  void take(const Request& request, const Assignment& assignment, int64_t sign) {
    auto node = std::find_if(nodes_.begin(), nodes_.end(),
                             [&](const NodeView& n) { return n.name == assignment.node; });
    CHECK(node != nodes_.end());
    node->cpus_free -= assignment.cpus * sign;
    node->memory_free -= assignment.memory * sign;
    auto project = projects_.find(request.project);
    for (const api::Allocation& share : assignment.allocations) {
      auto device = std::find_if(node->devices.begin(), node->devices.end(),
                                 [&](const Device& d) { return d.uuid == share.accelerator; });
      CHECK(device != node->devices.end());
      if (share.exclusive) {
        device->exclusive = sign > 0;
      } else {
        device->memory_held += share.memory * sign;
        device->compute_held += share.compute * sign;
        device->project = device->idle() ? "" : request.project;
      }
      if (project != projects_.end())
        project->second.held +=
            MilliGpu{(request.demand.fraction ? request.demand.fraction->value : 1000) * sign};
    }
  }

  static void explain(const std::string& wanted, const Request& request,
                      const std::vector<Fit>& fits, Outcome& out) {
    const Fit* telling = nullptr;  // the node that comes nearest speaks for all
    auto nearness = [](Obstacle obstacle) {
      static constexpr int kRank[] = {
          0, 4, 5, 2, 1, 3};  // by Obstacle: kBehind is nearest, kNeverFits farthest
      return kRank[static_cast<int>(obstacle)];
    };
    for (const Fit& fit : fits) {
      if (fit.obstacle == Obstacle::kNone) continue;
      out.details.push_back(fit.reason);
      bool waits = fit.obstacle == Obstacle::kBusy || fit.obstacle == Obstacle::kBehind ||
                   fit.obstacle == Obstacle::kCpu;
      if (waits && request.demand.devices > 0) out.keeps_devices = true;
      if (!telling || nearness(fit.obstacle) < nearness(telling->obstacle)) telling = &fit;
    }
    if (!telling) {
      out.reason = cat("waits for ", wanted, ": there is no node");
    } else if (telling->obstacle == Obstacle::kBehind) {
      out.reason = cat("waits for ", wanted, " behind job ", telling->behind,
                       ", which is ahead in the queue");
    } else if (telling->obstacle == Obstacle::kNeverFits) {
      out.reason = cat("no node can ever run it: it needs ", wanted, ", and ", telling->reason);
    } else {
      out.reason = cat("waits for ", wanted, ": ", telling->reason);
    }
    if (fits.size() > 1 && telling)
      out.reason += cat(" (and ", plural(static_cast<int64_t>(fits.size()) - 1, "other node"),
                        " cannot take it either)");
  }

  Policy policy_;
  std::vector<NodeView> nodes_;
  std::map<std::string, ProjectView> projects_;
  Holds holds_;
};

// What is placed in one go: a gang, or the next task of an array.
std::span<const std::string> next_tasks(const Request& request) {
  std::span<const std::string> all = request.tasks;
  return request.gang ? all : all.first(std::min<size_t>(1, all.size()));
}

std::string why_no_more(const Request& request) {
  return cat("its array runs at most ", plural(*request.parallel, "task"), " at a time");
}

// Why the request has to wait although nothing was looked at yet; empty: it need not.
std::string why_not_yet(const Request& request, Instant now) {
  if (!request.blocked.empty()) return request.blocked;
  if (!request.ready) return "waits for the rest of its gang to stop";
  if (request.not_before && (*request.not_before > now || request.tasks.empty()))
    return cat(request.failed_before ? "failed before; tries again at " : "does not start before ",
               format_instant(*request.not_before));
  return request.slots == 0 ? why_no_more(request) : "";
}

// Two requests of one shape get the same answer from a board that only gets fuller, so the second
// need not be tried once the first has failed. This keeps a long queue of equal jobs cheap.
bool same_shape(const Request& a, const Request& b) {
  return a.project == b.project && next_tasks(a).size() == next_tasks(b).size() &&
         a.demand == b.demand;
}
struct Failed {
  RequestPtr first;                            // of its shape
  std::shared_ptr<const std::string> message;  // for those of the same shape behind it
};

// How far a request got.
struct Progress {
  std::vector<Assignment> placed;
  std::optional<Board::Outcome> obstacle;  // what stopped it
};

// Places the gang, or these tasks of an array one after another as long as they fit.
Progress place_all(Board& board, const Request& request, std::span<const std::string> tasks) {
  Progress out;
  size_t each = request.gang ? tasks.size() : 1;
  for (; !tasks.empty(); tasks = tasks.subspan(each)) {
    Board::Outcome outcome = board.place(request, tasks.first(each));
    if (outcome.placed.empty()) {
      out.obstacle = std::move(outcome);
      break;
    }
    std::ranges::move(outcome.placed, std::back_inserter(out.placed));
  }
  return out;
}

// Walks the queue once. `visit` sees each request that waits, with the board as it stands then.
template <class Visit>
Plan walk(const Snapshot& snapshot, const Policy& policy, Visit visit) {
  Plan out;
  Board board(snapshot, policy);
  std::vector<Failed> failed;
  const std::string* cpu_queue_head = nullptr;  // the first job that waits for CPU or memory alone
  constexpr size_t kRememberedShapes = 64;      // more would cost more to search than to try

  for (const RequestPtr& queued : snapshot.queue) {
    const Request& request = *queued;
    auto wait = [&](std::string message, const Board::Outcome& outcome = {}) {
      visit(request, board, outcome);
      out.waits.push_back({queued, std::make_shared<const std::string>(std::move(message))});
    };
    if (std::string why = why_not_yet(request, snapshot.now); !why.empty()) {
      out.waits.push_back({queued, std::make_shared<const std::string>(std::move(why))});
      continue;
    }
    bool cpu_only = request.demand.devices == 0;
    if (cpu_only && cpu_queue_head) {
      wait(cat("waits behind job ", *cpu_queue_head,
               ", which is ahead in the queue and waits for CPU or memory"));
      continue;
    }
    auto known = std::find_if(failed.begin(), failed.end(), [&](const Failed& earlier) {
      return same_shape(*earlier.first, request);
    });
    if (known != failed.end()) {
      visit(request, board, Board::Outcome{});
      out.waits.push_back({queued, known->message});
      continue;
    }
    std::span<const std::string> tasks = request.tasks;
    if (request.slots)
      tasks = tasks.first(std::min(tasks.size(), static_cast<size_t>(*request.slots)));
    Progress got = place_all(board, request, tasks);
    if (!got.placed.empty()) out.decisions.push_back({request.job, std::move(got.placed)});
    if (!got.obstacle) {
      if (tasks.size() < request.tasks.size())
        out.waits.push_back({queued, std::make_shared<const std::string>(why_no_more(request))});
      continue;
    }
    const Board::Outcome& outcome = *got.obstacle;
    std::string reason = outcome.reason;
    bool hopeless =
        outcome.hopeless || board.idle().place(request, next_tasks(request)).placed.empty();
    bool keeps_devices = outcome.keeps_devices;
    wait(reason, outcome);
    // A job that cannot start whatever the others do keeps nothing from them.
    if (!hopeless && keeps_devices) board.hold_for(request);
    if (!hopeless && cpu_only) cpu_queue_head = &request.job;
    // Worded without the name of the job ahead: it changes with each start, and then every waiting
    // job would have news to publish. explain() names it.
    std::string for_others = keeps_devices && !hopeless
                                 ? cat("waits for ", describe(request.demand),
                                       " behind others that are ahead in the queue")
                                 : reason;
    if (failed.size() < kRememberedShapes)
      failed.push_back({queued, std::make_shared<const std::string>(std::move(for_others))});
  }
  return out;
}

}  // namespace

Plan plan(const Snapshot& snapshot, const Policy& policy, Rng) {
  return walk(snapshot, policy, [](const Request&, Board&, const Board::Outcome&) {});
}

Explanation explain(const Snapshot& snapshot, const Policy& policy, Rng, const std::string& job) {
  Explanation out;
  Plan result = walk(
      snapshot, policy, [&](const Request& request, Board& board, const Board::Outcome& outcome) {
        if (request.job != job) return;
        out.details = outcome.details;
        // The smallest change that would start it now: fewer devices for each task.
        for (int64_t fewer = request.demand.devices - 1; fewer >= 1; --fewer) {
          Request smaller = request;
          smaller.demand.devices = fewer;
          Board trial = board;
          if (trial.place(smaller, next_tasks(smaller)).placed.empty()) continue;
          out.remedies.push_back(cat("with ", plural(fewer, "accelerator"), " instead of ",
                                     request.demand.devices, " it would start now"));
          break;
        }
        if (!request.demand.selector.model.empty() || !request.demand.selector.vendor.empty()) {
          Request any = request;
          any.demand.selector.model.clear();
          any.demand.selector.vendor.clear();
          Board trial = board;
          if (!trial.place(any, next_tasks(any)).placed.empty())
            out.remedies.emplace_back("with any model of accelerator it would start now");
        }
      });
  for (size_t i = 0; i < result.waits.size(); ++i) {
    if (result.waits[i].request->job != job) continue;
    out.message = *result.waits[i].message;
    out.position = static_cast<int64_t>(i) + 1;
  }
  return out;
}

}  // namespace tessera::sched
