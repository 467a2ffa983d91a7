// What the planner keeps up to date change by change is what it would find by looking at all anew.

#include "core/sched/planner.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "core/invariants.h"
#include "core/snapshot.h"
#include "core/testing/cluster.h"

namespace tessera::sched {
namespace {

std::string text_of(const Node& node) {
  std::string out = cat(node.view.name, " ", node.view.open ? "open" : "closed", " ",
                        node.view.cpus_free.value, " ", node.view.memory_free.value);
  for (const Device& device : node.view.devices)
    out += cat(" ", device.uuid, device.healthy ? "" : " ill", device.exclusive ? " whole" : "",
               "/", device.memory_held.value, "/", device.compute_held.value, "/", device.project);
  return out + "\n";
}

std::string text_of(const Cluster& cluster) {
  std::string out;
  for (const Node& node : cluster.nodes()) out += text_of(node);
  return out;
}

std::string text_of(const std::vector<Decision>& decisions) {
  std::string out;
  for (const Decision& decision : decisions) {
    out += decision.job;
    for (const Assignment& task : decision.tasks) {
      out += cat(" ", task.node, ":");
      for (const api::Allocation& share : task.allocations)
        out += cat(share.accelerator, "/", share.memory.value, ",");
    }
    out += "\n";
  }
  return out;
}

std::vector<NodeView> random_nodes(Rng& rng, size_t count) {
  std::vector<NodeView> nodes;
  for (size_t i = 0; i < count; ++i) {
    NodeView node{.name = cat("n", 100 + i),
                  .open = !rng.chance(5),
                  .closed_reason = "is closed",
                  .cpus = {8000 * (1 + static_cast<int64_t>(rng.below(8)))},
                  .memory = {65536},
                  .devices = {}};
    node.cpus_free = node.cpus;
    node.memory_free = node.memory;
    bool large = rng.chance(50);
    for (int64_t d = 0; d < static_cast<int64_t>(rng.below(9)); ++d)
      node.devices.push_back({.uuid = cat(node.name, "-", d),
                              .index = d,
                              .vendor = "sim",
                              .model = large ? "H100" : "T4",
                              .memory = {large ? 80'000 : 16'000},
                              .healthy = !rng.chance(5)});
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Demand random_demand(Rng& rng) {
  Demand demand;
  switch (rng.below(4)) {
    case 0:
      demand.cpus = MilliCpu{100 * (1 + static_cast<int64_t>(rng.below(30)))};
      break;
    case 1:
      demand.devices = 1 << rng.below(4);
      break;
    case 2:
      demand.devices = 1;
      demand.fraction = MilliGpu{100 * (1 + static_cast<int64_t>(rng.below(9)))};
      demand.cpus = MilliCpu{1000};
      break;
    default:
      demand.devices = 1 + static_cast<int64_t>(rng.below(2));
      demand.slice_memory = MiB{1000 * (1 + static_cast<int64_t>(rng.below(15)))};
  }
  if (demand.devices > 0 && rng.chance(30)) demand.selector.model = rng.chance(50) ? "T4" : "H100";
  return demand;
}

// A ranking that follows the changes gives the same answer as a look at every node, and a trial
// that is rolled back leaves nothing behind.
TEST(Board, ChoosesAsAScanOfAllNodesDoes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    Board board{Cluster(random_nodes(rng, 1 + rng.below(40)))};
    Arrivals arrivals;
    std::vector<Demand> demands;
    for (int i = 0; i < 12; ++i) demands.push_back(random_demand(rng));
    std::vector<Delta> held;
    for (int step = 0; step < 400; ++step) {
      const Demand& demand = demands[rng.below(demands.size())];
      if (arrivals.add(demand, 1))
        board.set_mix(make_mix(arrivals.known(), board.cluster().kinds()));
      Ask ask = make_ask(board.cluster(), demand, rng.chance(50) ? "a" : "b");
      auto placement = static_cast<Placement>(rng.below(3));
      std::optional<Delta> best = board.best(ask, placement);
      ASSERT_EQ(best, board.best_by_scan(ask, placement)) << "seed " << seed << " step " << step;
      std::string before = text_of(board.cluster());
      Cluster::Mark mark = board.cluster().mark();
      if (best) board.cluster().take(*best);
      if (!held.empty() && rng.chance(40)) {
        size_t which = rng.below(held.size());
        board.cluster().give_back(held[which]);
        if (rng.chance(70)) {
          held.erase(held.begin() + static_cast<int64_t>(which));
          if (best) held.push_back(*best);
          board.cluster().commit();
          continue;
        }
      } else if (best && rng.chance(70)) {
        held.push_back(*best);
        board.cluster().commit();
        continue;
      }
      board.cluster().rollback(mark);
      ASSERT_EQ(text_of(board.cluster()), before) << "seed " << seed << " step " << step;
    }
  }
}

// The published measure on a node with idle parts of 0.3, 0.5 and 1: a job of one whole device can
// use one of them, one of two whole devices none, CPU alone none.
TEST(Fragmentation, IsWhatTheMixCannotUse) {
  NodeView view{.name = "n",
                .closed_reason = {},
                .cpus = {8000},
                .cpus_free = {8000},
                .memory = {1000},
                .memory_free = {1000},
                .devices = {}};
  for (int64_t held : {700, 500, 0})
    view.devices.push_back({.uuid = cat("d", held),
                            .vendor = "sim",
                            .model = "T4",
                            .memory = {1000},
                            .memory_held = {held},
                            .compute_held = {held / 10}});
  Cluster cluster(std::span(&view, 1));
  auto of = [&](Demand demand) {
    std::vector<Arrival> arrivals{{std::move(demand), 1}};
    return fragmentation(cluster.nodes()[0], make_mix(arrivals, cluster.kinds())) / kPpm;
  };
  EXPECT_EQ(of({.devices = 1}), 800);
  EXPECT_EQ(of({.devices = 2}), 1800);
  EXPECT_EQ(of({.devices = 1, .fraction = MilliGpu{400}}), 300);
  EXPECT_EQ(of({.devices = 0, .cpus = MilliCpu{1000}}), 1800);
  // With 10 CPUs for a device no job fits at all, and the 8 that are free serve 0.8 of one: 1
  // beyond those is counted once more.
  EXPECT_EQ(of({.devices = 1, .cpus = MilliCpu{10'000}}), 1800 + 1000);
}

TEST(Queue, EqualJobsAreOneLine) {
  core::testing::Cluster c;
  c.add_node("n", 2);
  for (int i = 0; i < 500; ++i) c.submit(cat("j", i), 1000);
  LinePlan plan = c.state.planner.plan({}, c.now);
  EXPECT_EQ(plan.decisions.size(), 2u);
  ASSERT_EQ(plan.waits.size(), 1u);
  EXPECT_EQ(plan.waits[0].request->job, "default/j2");
  ASSERT_EQ(plan.lines.size(), 1u);
  EXPECT_EQ(*plan.lines[0].message,
            "waits for 1 accelerator behind others that are ahead in the queue");
  EXPECT_EQ(all_waits(plan, c.state.planner.queue).size(), 498u);
}

class History {
 public:
  explicit History(uint64_t seed) : rng_(seed) {
    for (int i = 0; i < 4; ++i)
      c.add_node(cat("n", i), 1 + i * 2, {16'000}, {65536}, i % 2 ? "H100" : "T4");
    c.add_project("small", MilliGpu{3000});
  }

  void step() {
    switch (rng_.below(8)) {
      case 0:
      case 1:
      case 2:
        return submit();
      case 3:
        return cordon();
      case 4:
        c.set_device(cat("n", rng_.below(2) + 2, "-", rng_.below(3)),
                     rng_.chance(50) ? api::Health::kFenced : api::Health::kHealthy);
        return;
      case 5:
        return c.advance(Millis{1000 * static_cast<int64_t>(rng_.below(60))});
      default:
        return end_one();
    }
  }

  core::testing::Cluster c;

 private:
  void submit() {
    api::Job job = core::testing::Cluster::job(cat("j", ++jobs_));
    int64_t kind = static_cast<int64_t>(rng_.below(4));
    if (kind == 1)
      job.spec.resources.gpus = MilliGpu{1000 * (1 + static_cast<int64_t>(rng_.below(4)))};
    if (kind == 2) job.spec.resources.gpus = MilliGpu{250};
    if (kind == 3) job.spec.resources.gpuMemory = MiB{10'000};
    if (rng_.chance(20))
      job.spec.replicas = 1 + static_cast<int64_t>(rng_.below(4));
    else if (rng_.chance(10))
      job.spec.array = api::JobArray{.indices = "0-4", .parallel = 2};
    job.spec.priority = static_cast<int64_t>(rng_.below(3));
    if (rng_.chance(30)) job.spec.maxRuntime = Millis{60'000};
    if (rng_.chance(30)) job.metadata.project = "small";
    c.submit(job);
  }
  void cordon() {
    api::Node node = c.state.nodes.at(cat("n", rng_.below(4)));
    node.spec.unschedulable = rng_.chance(30);
    c.run(core::ReplaceNode{node});
  }
  void end_one() {
    if (c.state.holding.empty()) return;
    auto id = c.state.holding.begin();
    std::advance(id, rng_.below(c.state.holding.size()));
    api::Task task = c.state.tasks.at(*id);
    if (rng_.chance(50)) c.run(core::TaskStarted{task.id, task.attempt});
    c.run(core::TaskExited{task.id, task.attempt, 0});
  }

  Rng rng_;
  int jobs_ = 0;
};

// Incremental state equals a rebuild from facts, and plans the same.
TEST(Planner, IsAsIfMadeAnew) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    History history(seed);
    core::State& state = history.c.state;
    for (int step = 0; step < 150; ++step) {
      history.step();
      core::State anew = state;
      core::rebuild(anew);
      ASSERT_EQ(text_of(state.planner.board().cluster()), text_of(anew.planner.board().cluster()))
          << "seed " << seed << " step " << step;
      Snapshot kept = core::make_snapshot(state, history.c.now);
      Snapshot made = core::make_snapshot(anew, history.c.now);
      ASSERT_EQ(kept.holders, made.holders);
      ASSERT_EQ(kept.projects, made.projects);
      std::string planned = text_of(state.planner.plan({}, history.c.now).decisions);
      ASSERT_EQ(planned, text_of(plan(kept, {}, Rng(1)).decisions))
          << "seed " << seed << " step " << step;
      history.c.plan();
      ASSERT_EQ(core::check_invariants(state), std::vector<std::string>{});
    }
  }
}

}  // namespace
}  // namespace tessera::sched
