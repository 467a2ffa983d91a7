#include "simulate/simulator.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "simulate/summary.h"

namespace tessera::simulate {
namespace {

Workload workload_of(std::string_view yaml) {
  Workload workload;
  Status read = read_file(yaml, workload);
  EXPECT_TRUE(read.ok()) << read.error().text();
  Status done = complete(workload);
  EXPECT_TRUE(done.ok()) << done.error().text();
  return workload;
}

Outcome run_as(const Workload& workload, std::string_view policy) {
  for (const Policy& known : policies())
    if (known.name == policy) return run(workload, known, {});
  ADD_FAILURE() << policy;
  return {};
}

// Start and end of each job in seconds: "a 0-60".
std::string told(const Outcome& outcome) {
  std::string out;
  for (const Fate& fate : outcome.fates)
    out += cat(fate.job->name, " ", fate.started.value < 0 ? -1 : fate.started.value / 1000, "-",
               fate.ended.value < 0 ? -1 : fate.ended.value / 1000, "\n");
  return out;
}

constexpr std::string_view kMachine = "machines: [{name: n, accelerators: 4}]\n";

TEST(Simulator, JobsWaitForWhatOthersHold) {
  Workload workload = workload_of(cat(kMachine, R"(
jobs:
- {name: a, runs: 60s, resources: {gpus: 3}}
- {name: b, at: 10s, runs: 30s, resources: {gpus: 2}}
- {name: c, at: 20s, runs: 5s, resources: {gpus: 2}}
)"));
  EXPECT_EQ(told(run_as(workload, "pack")), "a 0-60\nb 60-90\nc 60-65\n");
  Summary sum = summarise(run_as(workload, "pack"));
  EXPECT_EQ(sum.makespan, 90'000);
  EXPECT_EQ(sum.all.mean, (0 + 50'000 + 40'000) / 3);
  // 3 devices for 60 s, 4 for 5 s, 2 for 25 s of 4 for 90 s.
  EXPECT_EQ(sum.utilisation, 1000 * (180 + 20 + 50) / 360);
  ASSERT_EQ(sum.by_size.size(), 1u);
  EXPECT_EQ(sum.by_size.front().group, "2-4");
}

TEST(Simulator, TheShortestGoesFirstWhenThatIsThePolicy) {
  Workload workload = workload_of(cat(kMachine, R"(
jobs:
- {name: a, runs: 60s, resources: {gpus: 4}}
- {name: b, at: 1s, runs: 90s, resources: {gpus: 4}}
- {name: c, at: 2s, runs: 5s, resources: {gpus: 4}}
- {name: d, at: 3s, runs: 99s, resources: {gpus: 4}, priority: 1}
)"));
  EXPECT_EQ(told(run_as(workload, "pack")), "a 0-60\nb 159-249\nc 249-254\nd 60-159\n");
  EXPECT_EQ(told(run_as(workload, "shortest")), "a 0-60\nb 164-254\nc 159-164\nd 60-159\n");
}

// Jobs of the project whose jobs were short go first, though nobody says how long they will run.
TEST(Simulator, DurationsAreLearnt) {
  Workload workload = workload_of(cat(kMachine, R"(
jobs:
- {name: long, project: l, count: 20, runs: 10h, resources: {gpus: 4}}
- {name: short, project: s, count: 20, at: 1s, runs: 1m, resources: {gpus: 4}}
- {name: l, project: l, at: 300h, runs: 10h, resources: {gpus: 4}}
- {name: next, project: l, at: 301h, runs: 10h, resources: {gpus: 4}}
- {name: quick, project: s, at: 302h, runs: 1m, resources: {gpus: 4}}
)"));
  Outcome learnt = run_as(workload, "learnt"), pack = run_as(workload, "pack");
  EXPECT_LT(learnt.fates[42].started, learnt.fates[41].started);
  EXPECT_GT(pack.fates[42].started, pack.fates[41].started);
}

TEST(Simulator, QuotasAndGangsAreThoseOfTheServer) {
  Workload workload = workload_of(R"(
machines: [{name: n, count: 2, accelerators: 2}]
projects: [{name: small, quota: {max: 1}}]
jobs:
- {name: a, project: small, count: 2, runs: 10s, resources: {gpus: 1}}
- {name: never, project: small, runs: 10s, resources: {gpus: 2}}
- {name: gang, at: 1s, runs: 10s, replicas: 2, resources: {gpus: 2}}
)");
  Outcome outcome = run_as(workload, "pack");
  EXPECT_EQ(told(outcome), "a-0 0-10\na-1 10-20\nnever -1--1\ngang 20-30\n");
  EXPECT_EQ(summarise(outcome).all.unfinished, 1);
}

TEST(Simulator, WhatTheServerWouldRefuseIsCounted) {
  Workload workload = workload_of(cat(kMachine, R"(
jobs:
- {name: a, runs: 10s}
- {name: a, at: 1s, runs: 10s}
)"));
  EXPECT_EQ(run_as(workload, "pack").refused,
            (std::map<std::string, int64_t>{{"there already is a job 'a'", 1}}));
}

TEST(Simulator, TheSameSeedGivesTheSameOutcome) {
  Workload workload = workload_of(cat(kMachine, R"(
jobs:
- {name: a, count: 50, every: 7s, runs: 31s, resources: {gpus: 2}}
- {name: b, count: 50, every: 5s, runs: 17s, resources: {gpus: 0.5}}
)"));
  for (const Policy& policy : policies())
    EXPECT_EQ(told(run_as(workload, policy.name)), told(run_as(workload, policy.name)));
}

}  // namespace
}  // namespace tessera::simulate
