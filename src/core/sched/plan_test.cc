#include "core/sched/plan.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "core/invariants.h"
#include "core/snapshot.h"
#include "core/testing/cluster.h"

namespace tessera::core::testing {
namespace {

// What is submitted (name, thousandths of a GPU), and the plan that follows, word for word.
TEST(Plan, WholeDevicesInOrderOfSubmission) {
  Cluster c;
  c.add_node("n", 2);
  for (auto name : {"a", "b", "c"}) c.submit(name, 1000);
  EXPECT_EQ(c.plan(),
            "a: n[0]\n"
            "b: n[1]\n"
            "c waits for 1 accelerator: on n 0 of 2 matching accelerators are free (2 in use)\n");
  c.started("a");
  c.exited("a", 0);
  EXPECT_EQ(c.plan(), "c: n[0]\n");
}

TEST(Plan, PriorityGoesBeforeSubmission) {
  Cluster c;
  c.add_node("n", 1);
  c.submit("first", 1000);
  api::Job urgent = Cluster::job("urgent", 1000);
  urgent.spec.priority = 10;
  c.submit(urgent);
  EXPECT_EQ(
      c.plan(),
      "urgent: n[0]\n"
      "first waits for 1 accelerator: on n 0 of 1 matching accelerator are free (1 in use)\n");
}

// A large job is not overtaken by smaller ones that would take what it waits for; CPU jobs may
// pass.
TEST(Plan, ABlockedJobKeepsItsDevicesFromThoseBehindIt) {
  Cluster c;
  c.add_node("n", 4);
  c.submit("running", 3000);
  c.plan();
  c.submit("large", 4000);
  c.submit("small", 1000);
  c.submit("cpu");
  EXPECT_EQ(
      c.plan(),
      "cpu: n[]\n"
      "large waits for 4 accelerators: on n 1 of 4 matching accelerators is free (3 in use)\n"
      "small waits for 1 accelerator behind job default/large, which is ahead in the queue\n");
}

// Packed, the third would be left with one device that has room; any two of three do for all.
TEST(Plan, AGangOfSlicesIsSpreadWhenItDoesNotFitPacked) {
  Cluster c;
  c.add_node("n", 3);
  api::Job gang = Cluster::job("g", 2000);
  gang.spec.replicas = 3;
  gang.spec.resources.gpuMemory = MiB{40'000};
  c.submit(gang);
  EXPECT_EQ(c.plan(),
            "g: n[0=40000MiB/48%,1=40000MiB/48%] n[0=40000MiB/48%,2=40000MiB/48%] "
            "n[1=40000MiB/48%,2=40000MiB/48%]\n");
}

TEST(Plan, AJobThatCanNeverRunBlocksNobody) {
  Cluster c;
  c.add_node("n", 2);
  c.submit("huge", 16'000);
  c.submit("small", 1000);
  EXPECT_EQ(c.plan(),
            "small: n[0]\n"
            "huge no node can ever run it: it needs 16 accelerators, and n has 2 matching "
            "accelerators\n");
}

TEST(Plan, OnePoolDoesNotBlockAnother) {
  Cluster c;
  c.add_node("h", 1, {8000}, {65536}, "H100");
  c.add_node("t", 1, {8000}, {65536}, "T4");
  auto of_model = [](const char* name, const char* model) {
    api::Job job = Cluster::job(name, 1000);
    job.spec.resources.accelerator =
        api::AcceleratorSelector{.vendor = {}, .model = model, .minMemory = {}, .devices = {}};
    return job;
  };
  c.submit(of_model("a", "h100"));
  c.submit(of_model("b", "H100"));
  c.submit(of_model("c", "T4"));
  EXPECT_EQ(c.plan(),
            "a: h[0]\n"
            "c: t[0]\n"
            "b waits for 1 H100 accelerator: on h 0 of 1 matching accelerator are free (1 in use) "
            "(and 1 other node cannot take it either)\n");
}

// volcano#3373: two gangs of which each could hold a half.
TEST(Plan, GangsStartWholeOrNotAtAll) {
  Cluster c;
  for (int i = 0; i < 4; ++i) c.add_node(cat("n", i), 1);
  for (auto name : {"g1", "g2"}) {
    api::Job gang = Cluster::job(name, 1000);
    gang.spec.replicas = 3;
    c.submit(gang);
  }
  EXPECT_EQ(c.plan(),
            "g1: n0[0] n1[0] n2[0]\n"
            "g2 waits for 3 × 1 accelerator at once: 1 of them would fit now\n");
  EXPECT_EQ(check_invariants(c.state), std::vector<std::string>{});
}

// KAI#416, volcano#3616: more memory given away than the card has.
TEST(Plan, SlicesAddUpExactly) {
  Cluster c;
  c.add_node("n", 1, {64'000}, {1'000'000}, "L40S", {46'068});
  for (int i = 0; i < 24; ++i) {
    api::Job slice = Cluster::job(cat("s", 10 + i));
    slice.spec.resources.gpuMemory = MiB{2000};
    slice.spec.resources.gpuCompute = Percent{1};
    c.submit(slice);
  }
  std::string plan = c.plan();
  EXPECT_EQ(std::count(plan.begin(), plan.end(), ':'), 23 + 1) << plan;  // 23 decisions, one reason
  EXPECT_NE(plan.find("s33 waits for a slice of 1Gi"), 0u);
  EXPECT_EQ(check_invariants(c.state), std::vector<std::string>{});
}

TEST(Plan, FractionsShareADeviceOfOneProjectOnly) {
  Cluster c;
  c.add_project("other");
  c.add_node("n", 1, {8000}, {65536}, "H100", {1000});
  c.submit("a", 250);
  api::Job foreign = Cluster::job("b", 250);
  foreign.metadata.project = "other";
  c.submit(foreign);
  c.submit("c", 750);
  EXPECT_EQ(c.plan(),
            "a: n[0=250MiB/25%]\n"
            "b waits for 0.25 of an accelerator: on n 0 of 1 matching accelerator are free (1 "
            "shared by another project)\n"
            "c waits for 0.75 of an accelerator behind job other/b, which is ahead in the queue\n");
}

TEST(Plan, SlicesPackOntoTheFullestDevice) {
  Cluster c;
  c.add_node("n", 2, {8000}, {65536}, "H100", {1000});
  for (auto name : {"a", "b", "c"}) c.submit(name, 500);
  EXPECT_EQ(c.plan(), "a: n[0=500MiB/50%]\nb: n[0=500MiB/50%]\nc: n[1=500MiB/50%]\n");
  Cluster spread;
  spread.add_node("n", 2, {8000}, {65536}, "H100", {1000});
  for (auto name : {"a", "b"}) spread.submit(name, 500);
  EXPECT_EQ(spread.plan({sched::Placement::kSpread}), "a: n[0=500MiB/50%]\nb: n[1=500MiB/50%]\n");
}

// k8s-device-plugin#231: one lost GPU takes one GPU out, not the node.
TEST(Plan, D6_AFencedDeviceIsOutItsNodeIsNot) {
  Cluster c;
  c.add_node("n", 2);
  c.set_device("n-0", api::Health::kFenced);
  c.submit("a", 1000);
  c.submit("b", 1000);
  EXPECT_EQ(c.plan(),
            "a: n[1]\n"
            "b waits for 1 accelerator: on n 0 of 2 matching accelerators are free (1 in use, 1 "
            "fenced)\n");
}

TEST(Plan, NamedDevicesAndCordonedNodes) {
  Cluster c;
  c.add_node("n", 2);
  api::Job named = Cluster::job("named");
  named.spec.resources.accelerator =
      api::AcceleratorSelector{.vendor = {}, .model = {}, .minMemory = {}, .devices = {"1"}};
  c.submit(named);
  EXPECT_EQ(c.plan(), "named: n[1]\n");
  api::Node node = c.state.nodes.at("n");
  node.spec.unschedulable = true;
  EXPECT_EQ(c.run(ReplaceNode{node}), "");
  c.submit("a", 1000);
  EXPECT_EQ(c.plan(), "a waits for 1 accelerator: n is cordoned\n");
}

TEST(Plan, QuotaIsAMaximum) {
  Cluster c;
  c.add_project("small", MilliGpu{1000});
  c.add_node("n", 4);
  for (auto name : {"a", "b"}) {
    api::Job job = Cluster::job(name, 1000);
    job.metadata.project = "small";
    c.submit(job);
  }
  c.submit("c", 1000);
  EXPECT_EQ(c.plan(),
            "a: n[0]\n"
            "c: n[1]\n"
            "b project small may hold 1 accelerators and holds 1; this job needs 1\n");
}

TEST(Plan, CpuAndMemoryAreLimitsToo) {
  Cluster c;
  c.add_node("n", 0, {1000}, {1024});
  api::Job wide = Cluster::job("wide");
  wide.spec.resources.cpus = MilliCpu{800};
  c.submit(wide);
  api::Job next = Cluster::job("next");
  next.spec.resources.cpus = MilliCpu{300};
  c.submit(next);
  c.submit("tiny");
  EXPECT_EQ(
      c.plan(),
      "wide: n[]\n"
      "next waits for 0.3 CPUs and 64Mi of memory: on n 0.2 of 1 CPUs are free, 0.3 are needed\n"
      "tiny waits behind job default/next, which is ahead in the queue and waits for CPU or "
      "memory\n");
}

TEST(Plan, ExplanationNamesTheSmallestChange) {
  Cluster c;
  c.add_node("n", 4);
  c.submit("running", 2000);
  c.plan();
  c.submit("large", 4000);
  sched::Explanation told =
      sched::explain(make_snapshot(c.state, c.now), {}, Rng(1), "default/large");
  EXPECT_EQ(told.position, 1);
  EXPECT_EQ(told.details,
            std::vector<std::string>{"on n 2 of 4 matching accelerators are free (2 in use)"});
  EXPECT_EQ(told.remedies,
            std::vector<std::string>{"with 2 accelerators instead of 4 it would start now"});
}

TEST(Plan, TheSameSnapshotGivesTheSamePlan) {
  Cluster c;
  for (int i = 0; i < 3; ++i) c.add_node(cat("n", i), 4);
  Rng rng(7);
  for (int i = 0; i < 40; ++i)
    c.submit(cat("j", i), rng.chance(50) ? 1000 * (1 + static_cast<int64_t>(rng.below(4))) : 250);
  sched::Snapshot snapshot = make_snapshot(c.state, c.now);
  sched::Plan one = sched::plan(snapshot, {}, Rng(1)), two = sched::plan(snapshot, {}, Rng(1));
  ASSERT_EQ(one.decisions.size(), two.decisions.size());
  for (size_t i = 0; i < one.decisions.size(); ++i)
    EXPECT_EQ(one.decisions[i].job, two.decisions[i].job);
  c.plan();
  EXPECT_EQ(check_invariants(c.state), std::vector<std::string>{});
}

}  // namespace
}  // namespace tessera::core::testing
