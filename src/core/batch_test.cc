// Arrays, dependencies, begin times and warnings before the end.

#include <gtest/gtest.h>

#include "base/text.h"
#include "core/invariants.h"
#include "core/snapshot.h"
#include "core/step.h"
#include "core/testing/cluster.h"

namespace tessera::core::testing {
namespace {

using api::DependencyCondition;

class Batch : public ::testing::Test {
 protected:
  void SetUp() override { c.add_node("n", 2); }
  void TearDown() override { EXPECT_EQ(check_invariants(c.state), std::vector<std::string>{}); }

  static api::Job array(const std::string& name, const std::string& indices,
                        std::optional<int64_t> parallel = {}) {
    api::Job job = Cluster::job(name, 1000);
    job.spec.array = api::JobArray{.indices = indices, .parallel = parallel};
    return job;
  }
  static api::Job after(const std::string& name, const std::string& other,
                        DependencyCondition condition) {
    api::Job job = Cluster::job(name);
    job.spec.dependsOn.push_back({.job = other, .condition = condition, .index = {}});
    return job;
  }
  void finish(const std::string& job, int64_t exit_code, int64_t index = 0) {
    c.plan();
    c.started(job, index);
    c.exited(job, exit_code, index);
  }
  std::string waiting(const std::string& job) {
    sched::Snapshot snapshot = make_snapshot(c.state, c.now);
    return sched::explain(snapshot, {}, Rng(1), object_key("default", job)).message;
  }

  Cluster c;
};

TEST_F(Batch, TasksOfAnArrayArePlacedAsTheyFit) {
  ASSERT_EQ(c.submit(array("a", "3-9:3")), "");
  EXPECT_EQ(c.get("a").status.array->queued, 3);
  EXPECT_EQ(c.plan(),
            "a: n[0] n[1]\n"
            "a waits for 1 accelerator: on n 0 of 2 matching accelerators are free "
            "(2 in use)\n");
  EXPECT_EQ(c.effects(), "ensure a-3#1, ensure a-6#1");
  c.started("a", 3);
  EXPECT_EQ(c.phase("a"), "Running");
  c.exited("a", 0, 3);
  EXPECT_EQ(c.plan(), "a: n[0]\n");
  EXPECT_EQ(c.effects(), "remove a-3#1, ensure a-9#1");
}

TEST_F(Batch, AnArrayRunsNoMoreThanItsLimitAtATime) {
  ASSERT_EQ(c.submit(array("a", "0-4", 1)), "");
  ASSERT_EQ(c.submit("b", 1000), "");
  EXPECT_EQ(c.plan(), "a: n[0]\nb: n[1]\na its array runs at most 1 task at a time\n");
  EXPECT_EQ(waiting("a"), "its array runs at most 1 task at a time");
  c.started("a", 0);
  c.exited("a", 0, 0);
  EXPECT_EQ(c.plan(), "a: n[0]\na its array runs at most 1 task at a time\n");
}

TEST_F(Batch, EachTaskOfAnArrayIsRetriedAndEndsOnItsOwn) {
  api::Job job = array("a", "0-2");
  job.spec.retries = 1;
  job.spec.backoff = Millis{1000};
  ASSERT_EQ(c.submit(std::move(job)), "");
  finish("a", 7, 0);
  EXPECT_EQ(c.task("a", 0).phase, Phase::kQueued);
  EXPECT_EQ(c.task("a", 1).phase, Phase::kStarting);
  finish("a", 0, 1);
  finish("a", 0, 2);
  EXPECT_EQ(c.plan(), "a failed before; tries again at 1970-01-01T00:16:41.000Z\n");
  EXPECT_EQ(c.phase("a"), "Queued ExitCode");
  c.advance(Millis{1000});
  finish("a", 7, 0);
  EXPECT_EQ(c.phase("a"), "Failed ExitCode");
  EXPECT_EQ(c.get("a").status.message, "task 0: exit code 7");
  const api::ArrayStatus& counts = *c.get("a").status.array;
  EXPECT_EQ(std::pair(counts.succeeded, counts.failed), std::pair(int64_t{2}, int64_t{1}));
}

TEST_F(Batch, OneTaskOfAnArrayIsStoppedAlone) {
  ASSERT_EQ(c.submit(array("a", "0-2")), "");
  c.plan();
  c.started("a", 0);
  EXPECT_EQ(c.run(StopJob{"default", "a", "", std::nullopt, 2}), "");
  EXPECT_EQ(c.task("a", 2).phase, Phase::kCancelled);
  EXPECT_EQ(c.phase("a"), "Running Cancelled");
  EXPECT_NE(c.run(StopJob{"default", "a", "", std::nullopt, 5}).find("no task 5"),
            std::string::npos);
  ASSERT_EQ(c.submit("b"), "");
  EXPECT_NE(c.run(StopJob{"default", "b", "", std::nullopt, 0}).find("no array"),
            std::string::npos);
}

TEST_F(Batch, TasksOfAnArrayOverrunAlone) {
  api::Job job = array("a", "0-1");
  job.spec.maxRuntime = Millis{5000};
  ASSERT_EQ(c.submit(std::move(job)), "");
  c.plan();
  c.started("a", 0);
  c.advance(Millis{2000});
  c.started("a", 1);
  c.advance(Millis{3000});
  EXPECT_EQ(c.task("a", 0).phase, Phase::kStopping);
  EXPECT_EQ(c.task("a", 1).phase, Phase::kRunning);
}

TEST_F(Batch, TasksOfAnArrayHaveNumbersOfTheirOwn) {
  ASSERT_EQ(c.submit(array("a", "0-2")), "");
  ASSERT_EQ(c.submit("b"), "");
  EXPECT_EQ(c.get("b").status.number, c.get("a").status.number + 3);
}

// How the other job ends decides.
TEST_F(Batch, Dependencies) {
  struct Case {
    DependencyCondition condition;
    int64_t exit_code;
    const char* phase;
    const char* wait;
  };
  constexpr Case kCases[] = {
      {DependencyCondition::kAfterOk, 0, "Queued", "waits for job other to succeed"},
      {DependencyCondition::kAfterOk, 1, "Cancelled DependencyNeverSatisfied",
       "waits for job other to succeed"},
      {DependencyCondition::kAfterNotOk, 0, "Cancelled DependencyNeverSatisfied",
       "waits for job other to fail"},
      {DependencyCondition::kAfterNotOk, 1, "Queued", "waits for job other to fail"},
      {DependencyCondition::kAfterAny, 0, "Queued", "waits for job other to end"},
      {DependencyCondition::kAfterAny, 1, "Queued", "waits for job other to end"}};
  for (const Case& row : kCases) {
    ASSERT_EQ(c.submit("other"), "");
    ASSERT_EQ(c.submit(after("a", "other", row.condition)), "");
    EXPECT_EQ(waiting("a"), row.wait);
    finish("other", row.exit_code);
    EXPECT_EQ(c.phase("a"), row.phase) << row.wait << " after exit code " << row.exit_code;
    if (c.get("a").status.phase == Phase::kQueued) finish("a", 0);
    // Decided for good: the other job may go.
    EXPECT_EQ(c.run(DeleteJob{"default", "other", 0}), "");
    EXPECT_EQ(c.run(DeleteJob{"default", "a", 0}), "");
  }
}

TEST_F(Batch, AfterWaitsForTheStartAndItsDelay) {
  ASSERT_EQ(c.submit("other"), "");
  api::Job job = after("a", "other", DependencyCondition::kAfter);
  job.spec.dependsOn[0].delay = Millis{60'000};
  ASSERT_EQ(c.submit(std::move(job)), "");
  EXPECT_EQ(waiting("a"), "waits for job other to start");
  c.plan();
  c.started("other");
  EXPECT_EQ(waiting("a"), "does not start before 1970-01-01T00:17:40.000Z");
  c.advance(Millis{60'000});
  EXPECT_EQ(c.plan(), "a: n[]\n");
}

TEST_F(Batch, AChainThatCanNeverRunEndsAtOnce) {
  ASSERT_EQ(c.submit("a"), "");
  ASSERT_EQ(c.submit(after("b", "a", DependencyCondition::kAfterOk)), "");
  ASSERT_EQ(c.submit(after("d", "b", DependencyCondition::kAfterOk)), "");
  ASSERT_EQ(c.submit(after("e", "b", DependencyCondition::kAfterNotOk)), "");
  EXPECT_EQ(c.run(DeleteJob{"default", "a", 0}), "");
  EXPECT_EQ(c.phase("b"), "Cancelled DependencyNeverSatisfied");
  EXPECT_EQ(c.get("b").status.message, "waited for job a to succeed, which cannot happen any more");
  EXPECT_EQ(c.phase("d"), "Cancelled DependencyNeverSatisfied");
  EXPECT_EQ(c.phase("e"), "Queued");
  ASSERT_EQ(c.submit(after("f", "b", DependencyCondition::kAfterOk)), "");
  EXPECT_EQ(c.phase("f"), "Cancelled DependencyNeverSatisfied");
}

TEST_F(Batch, ADependencyNamesAJobThatExists) {
  EXPECT_EQ(c.submit(after("a", "nobody", DependencyCondition::kAfterOk)),
            "spec.dependsOn[0].job: there is no job 'nobody' to depend on (submit that job first)");
  ASSERT_EQ(c.submit(array("sweep", "0-2")), "");
  api::Job job = after("a", "sweep", DependencyCondition::kAfterOk);
  job.spec.dependsOn[0].index = 7;
  EXPECT_EQ(c.submit(job), "spec.dependsOn[0].index: job 'sweep' has no task 7");
  job.spec.dependsOn[0].index = 1;
  EXPECT_EQ(c.submit(job), "");
  EXPECT_EQ(waiting("a"), "waits for task 1 of job sweep to succeed");
  c.plan();
  finish("sweep", 0, 1);
  EXPECT_EQ(waiting("a"), "");
}

TEST_F(Batch, OneOfASingletonRunsAtATimeInTheOrderOfSubmission) {
  for (const char* name : {"a", "b", "d"}) {
    api::Job job = Cluster::job(name);
    job.spec.singleton = "nightly";
    job.spec.priority = name == std::string("d") ? 10 : 0;
    ASSERT_EQ(c.submit(std::move(job)), "");
  }
  EXPECT_EQ(waiting("b"), "waits for the job before it of singleton 'nightly'");
  finish("a", 1);
  EXPECT_EQ(waiting("d"), "waits for the job before it of singleton 'nightly'");
  EXPECT_EQ(c.run(StopJob{"default", "b", "", std::nullopt}), "");
  finish("d", 0);
  EXPECT_EQ(c.phase("d"), "Succeeded Completed");
}

TEST_F(Batch, ABeginTimeIsWaitedFor) {
  api::Job job = Cluster::job("a");
  job.spec.startAfter = c.now + Millis{5000};
  ASSERT_EQ(c.submit(std::move(job)), "");
  EXPECT_EQ(c.plan(), "a does not start before 1970-01-01T00:16:45.000Z\n");
  EXPECT_EQ(next_deadline(c.state), c.now + Millis{5000});
  c.advance(Millis{5000});
  EXPECT_EQ(c.plan(), "a: n[]\n");
}

TEST_F(Batch, ASignalWarnsBeforeTheEnd) {
  api::Job job = Cluster::job("a");
  job.spec.maxRuntime = Millis{10'000};
  job.spec.endWarning = api::EndWarning{.signal = "SIGUSR1", .before = Millis{3000}};
  ASSERT_EQ(c.submit(std::move(job)), "");
  c.plan();
  c.started("a");
  c.effects();
  c.advance(Millis{6999});
  EXPECT_EQ(c.effects(), "");
  c.advance(Millis{1});
  EXPECT_EQ(c.effects(), "signal a-0#1");
  c.advance(Millis{2999});
  EXPECT_EQ(c.effects(), "");
  c.advance(Millis{1});
  EXPECT_EQ(c.effects(), "stop a-0#1");
}

TEST_F(Batch, ARequeueIsNoFailure) {
  for (bool requeue : {false, true}) {
    std::string name = requeue ? "again" : "once";
    api::Job job = Cluster::job(name);
    job.spec.requeue = requeue;
    ASSERT_EQ(c.submit(std::move(job)), "");
    c.plan();
    c.started(name);
    const api::Task& task = c.task(name);
    c.run(TaskExited{.task = task.id,
                     .attempt = task.attempt,
                     .exit_code = 255,
                     .lost = true,
                     .message = "its node is gone"});
    EXPECT_EQ(c.phase(name), requeue ? "Queued Lost" : "Failed Lost");
    EXPECT_EQ(c.task(name).failures, requeue ? 0 : 1);
  }
  c.advance(Millis{10'000});
  finish("again", 3);
  EXPECT_EQ(c.phase("again"), "Failed ExitCode");
}

}  // namespace
}  // namespace tessera::core::testing
