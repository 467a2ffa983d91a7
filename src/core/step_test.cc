#include "core/step.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/text.h"
#include "core/invariants.h"
#include "core/lifecycle.h"
#include "core/testing/cluster.h"

namespace tessera::core::testing {
namespace {

// From the same table as the code: whatever it does not list is refused in every phase.
TEST(Lifecycle, OnlyListedMovesExist) {
  size_t found = 0;
  for (size_t phase = 0; phase < enum_names(Phase{}).size(); ++phase)
    for (size_t event = 0; event < enum_names(TaskEvent{}).size(); ++event)
      if (find_move(static_cast<Phase>(phase), static_cast<TaskEvent>(event))) ++found;
  EXPECT_EQ(found, std::size(kMoves));
}

class Step : public ::testing::Test {
 protected:
  void SetUp() override { c.add_node("n", 2); }
  void TearDown() override { EXPECT_EQ(check_invariants(c.state), std::vector<std::string>{}); }
  // Submits and brings to Running.
  void run_job(api::Job job) {
    std::string name = job.metadata.name;
    int64_t replicas = job.spec.replicas;
    ASSERT_EQ(c.submit(std::move(job)), "");
    c.plan();
    for (int64_t i = 0; i < replicas; ++i) c.started(name, i);
    ASSERT_EQ(c.phase(name), "Running");
    c.effects();
    while (!c.state.outbox.empty()) c.run(EffectDone{c.state.outbox.begin()->first});
  }
  Cluster c;
};

TEST_F(Step, AJobRunsToItsEnd) {
  ASSERT_EQ(c.submit("a", 1000), "");
  EXPECT_EQ(c.phase("a"), "Queued");
  c.plan();
  EXPECT_EQ(c.phase("a"), "Starting");
  EXPECT_EQ(c.effects(), "ensure a-0#1");
  c.started("a");
  EXPECT_EQ(c.get("a").status.accelerators, std::vector<std::string>{"n-0"});
  c.exited("a", 0);
  EXPECT_EQ(c.phase("a"), "Succeeded Completed");
  EXPECT_EQ(c.get("a").status.exitCode, 0);
  EXPECT_EQ(c.effects(), "remove a-0#1");
  EXPECT_TRUE(c.get("a").status.accelerators.empty());
}

TEST_F(Step, HowAnAttemptEndsBecomesAReason) {
  struct Case {
    int64_t exit_code;
    bool oom;
    const char* phase;
    const char* message;
  };
  const Case kCases[] = {
      {3, false, "Failed ExitCode", "exit code 3"},
      {139, false, "Failed Signal", "ended by SIGSEGV (exit code 139)"},
      {137, true, "Failed OOMKilled", "out of memory: it used more than its limit of 64Mi"}};
  for (const Case& row : kCases) {
    std::string name = cat("j", row.exit_code);
    run_job(Cluster::job(name));
    const api::Task& task = c.task(name);
    c.run(TaskExited{task.id, task.attempt, row.exit_code, row.oom});
    EXPECT_EQ(c.phase(name), row.phase);
    EXPECT_EQ(c.get(name).status.message, row.message);
    EXPECT_EQ(c.get(name).status.exitCode, row.exit_code);
  }
}

TEST_F(Step, RetriesBackOffTwiceAsLongEachTime) {
  api::Job job = Cluster::job("a", 1000);
  job.spec.retries = 2;
  job.spec.backoff = Millis{1000};
  run_job(job);
  c.exited("a", 1);
  EXPECT_EQ(c.phase("a"), "Queued ExitCode");
  EXPECT_EQ(c.plan(), "a failed before; tries again at 1970-01-01T00:16:41.000Z\n");
  c.advance(Millis{1000});
  EXPECT_EQ(c.plan(), "a: n[0]\n");
  c.started("a");
  c.exited("a", 1);
  c.advance(Millis{1999});
  EXPECT_NE(c.plan().find("tries again"), std::string::npos);
  c.advance(Millis{1});
  c.plan();
  c.started("a");
  c.exited("a", 1);
  EXPECT_EQ(c.phase("a"), "Failed ExitCode");
  EXPECT_EQ(c.get("a").status.attempts, 3);
}

// A full disk is nobody's fault that a retry could count, and someone makes room.
TEST_F(Step, E3_WhatPassesIsTriedAgainUntilItHas) {
  api::Job job = Cluster::job("a", 1000);
  job.spec.backoff = Millis{60'000};
  c.submit(job);
  for (int64_t attempt = 1; attempt <= 5; ++attempt) {
    c.plan();
    ASSERT_EQ(c.phase("a").substr(0, 8), "Starting");
    c.run(TaskStartFailed{.task = "a-0",
                          .attempt = attempt,
                          .reason = api::Reason::kImagePull,
                          .message = "the disk is full",
                          .passing = true});
    EXPECT_EQ(c.phase("a"), "Queued ImagePull");
    EXPECT_EQ(c.get("a").status.message, "the disk is full");
    EXPECT_TRUE(c.get("a").status.accelerators.empty()) << "others may have them meanwhile";
    c.advance(Millis{30'000});
  }
  c.plan();
  c.started("a");
  EXPECT_EQ(c.phase("a"), "Running");
  EXPECT_EQ(c.task("a").failures, 0);
}

TEST_F(Step, WhatAnOlderAttemptDoesNoLongerMatters) {
  api::Job job = Cluster::job("a");
  job.spec.retries = 1;
  job.spec.backoff = Millis{0};
  run_job(job);
  c.exited("a", 1);
  c.advance(Millis{1});
  c.plan();
  c.started("a");
  c.run(TaskExited{"a-0", 1, 0});  // told twice, about the first attempt
  EXPECT_EQ(c.phase("a"), "Running");
}

TEST_F(Step, AStopEndsAsCancelledWhateverTheExitCode) {
  run_job(Cluster::job("a", 1000));
  EXPECT_EQ(c.run(StopJob{"default", "a", "", std::nullopt}), "");
  EXPECT_EQ(c.phase("a"), "Stopping Cancelled");
  EXPECT_EQ(c.effects(), "stop a-0#1");
  EXPECT_EQ(c.get("a").status.accelerators.size(), 1u);  // held until it is gone
  c.exited("a", 0);
  EXPECT_EQ(c.phase("a"), "Cancelled Cancelled");
  ASSERT_EQ(c.submit("b"), "");
  EXPECT_EQ(c.run(StopJob{"default", "b", "", std::nullopt}), "");
  EXPECT_EQ(c.phase("b"), "Cancelled Cancelled");
  EXPECT_EQ(c.run(StopJob{"default", "b", "", std::nullopt}),
            "");  // a second time is as good as once
}

TEST_F(Step, OnFailureStartsAgainWithoutLimitButNotWhatNeverRan) {
  api::Job job = Cluster::job("a", 1000);
  job.spec.restartPolicy = api::RestartPolicy::kOnFailure;
  job.spec.backoff = {100};
  run_job(job);
  for (int i = 0; i < 20; ++i) {
    c.exited("a", 1);
    EXPECT_EQ(c.phase("a"), "Queued ExitCode");
    c.advance({60'000});  // the longest wait
    c.plan();
    c.started("a");
    ASSERT_EQ(c.phase("a"), "Running") << i;
  }
  c.exited("a", 0);
  EXPECT_EQ(c.phase("a"), "Succeeded Completed");

  api::Job never = Cluster::job("never");
  never.spec.restartPolicy = api::RestartPolicy::kOnFailure;
  ASSERT_EQ(c.submit(never), "");
  c.plan();
  c.start_failed("never", api::Reason::kImagePull, "no such image");
  EXPECT_EQ(c.phase("never"), "Failed ImagePull");
}

TEST_F(Step, AlwaysStartsAgainUntilItIsStopped) {
  api::Job job = Cluster::job("a");
  job.spec.restartPolicy = api::RestartPolicy::kAlways;
  job.spec.backoff = {100};
  run_job(job);
  c.exited("a", 0);
  EXPECT_EQ(c.task("a").notBefore, c.now + Millis{100});
  c.advance({100});
  c.plan();
  c.started("a");
  c.exited("a", 0);
  EXPECT_EQ(c.task("a").notBefore, c.now + Millis{200}) << "in a loop it waits longer";
  c.advance({200});
  c.plan();
  c.started("a");
  c.advance({10'000});
  c.exited("a", 0);
  EXPECT_EQ(c.task("a").notBefore, c.now + Millis{100}) << "it ran well";
  c.run(StopJob{"default", "a", {}, {}});
  EXPECT_EQ(c.phase("a"), "Cancelled Cancelled");
}

TEST_F(Step, HealthAndPortsAreOfTheRunningContainer) {
  run_job(Cluster::job("a"));
  EXPECT_EQ(c.get("a").status.health, api::ContainerHealth::kNone);
  c.run(TaskHealth{c.task("a").id, 1, api::ContainerHealth::kUnhealthy, "no answer"});
  EXPECT_EQ(c.get("a").status.health, api::ContainerHealth::kUnhealthy);
  c.run(TaskHealth{c.task("a").id, 7, api::ContainerHealth::kHealthy, {}});
  EXPECT_EQ(c.get("a").status.health, api::ContainerHealth::kUnhealthy) << "of another attempt";
  c.exited("a", 0);
  EXPECT_EQ(c.get("a").status.health, api::ContainerHealth::kNone);
  EXPECT_TRUE(c.get("a").status.ports.empty());
}

TEST_F(Step, WhatReachesBeyondTheContainerIsForTheProjectToAllow) {  // A6, I1, I3
  struct Case {
    std::function<void(api::JobSpec&)> wish;
    std::function<void(api::Privileges&)> grant;
    std::string field;
  };
  using api::JobSpec, api::Privileges;
  const Case kCases[] = {
      {[](JobSpec& s) { s.security.privileged = true; }, [](Privileges& p) { p.privileged = true; },
       "spec.security.privileged"},
      {[](JobSpec& s) { s.network.mode = api::NetworkMode::kHost; },
       [](Privileges& p) { p.hostNetwork = true; }, "spec.network.mode"},
      {[](JobSpec& s) { s.security.hostPid = true; }, [](Privileges& p) { p.hostPid = true; },
       "spec.security.hostPid"},
      {[](JobSpec& s) { s.security.hostIpc = true; }, [](Privileges& p) { p.hostIpc = true; },
       "spec.security.hostIpc"},
      {[](JobSpec& s) { s.security.unconfined = true; }, [](Privileges& p) { p.unconfined = true; },
       "spec.security.unconfined"},
      {[](JobSpec& s) { s.security.addCapabilities = {"cap_sys_admin"}; },
       [](Privileges& p) { p.capabilities = {"SYS_ADMIN"}; }, "spec.security.addCapabilities"},
      {[](JobSpec& s) { s.devices = {{.source = "/dev/net/tun"}}; },
       [](Privileges& p) { p.devices = {"/dev/net"}; }, "spec.devices[0].source"},
  };
  for (const Case& row : kCases) {
    api::Job job = Cluster::job("a");
    row.wish(job.spec);
    c.state.projects.at("default").spec.privileges = {};
    std::string refusal = c.submit(job);
    EXPECT_TRUE(refusal.starts_with(row.field)) << refusal;
    EXPECT_NE(refusal.find("an admin can"), std::string::npos) << refusal;
    row.grant(c.state.projects.at("default").spec.privileges);
    EXPECT_EQ(c.submit(job), "") << row.field;
    c.run(DeleteJob{"default", "a", 0});
  }
  // Accelerators are allocated, whatever else is allowed.
  api::Job job = Cluster::job("a");
  job.spec.devices = {{.source = "/dev/nvidia0"}};
  c.state.projects.at("default").spec.privileges.devices = {"/"};
  EXPECT_NE(c.submit(job).find("accelerators are allocated"), std::string::npos);
}

TEST_F(Step, MaxRuntimeIsAFailureThatIsNotRetried) {
  api::Job job = Cluster::job("a");
  job.spec.maxRuntime = Millis{5000};
  job.spec.retries = 3;
  run_job(job);
  EXPECT_EQ(next_deadline(c.state), c.now + Millis{5000});
  c.advance(Millis{5000});
  EXPECT_EQ(c.phase("a"), "Stopping MaxRuntime");
  c.exited("a", 143);
  EXPECT_EQ(c.phase("a"), "Failed MaxRuntime");
  EXPECT_EQ(c.get("a").status.message, "ran longer than its limit of 5s");
}

TEST_F(Step, AGangFailsAndRetriesAsOne) {
  api::Job gang = Cluster::job("g", 1000);
  gang.spec.replicas = 2;
  gang.spec.retries = 1;
  gang.spec.backoff = Millis{0};
  run_job(gang);
  c.exited("g", 7, 1);
  EXPECT_EQ(c.effects(), "remove g-1#1, stop g-0#1");
  EXPECT_EQ(c.plan(), "g waits for the rest of its gang to stop\n");
  c.exited("g", 143, 0);
  c.advance(Millis{1});
  EXPECT_EQ(c.plan(), "g: n[0] n[1]\n");
  c.started("g", 0);
  c.started("g", 1);
  c.exited("g", 7, 1);
  c.exited("g", 143, 0);
  EXPECT_EQ(c.phase("g"), "Failed ExitCode");
  EXPECT_EQ(c.get("g").status.message, "replica 1: exit code 7");
  EXPECT_EQ(c.get("g").status.exitCode, 7);
}

TEST_F(Step, DeletingARunningJobWaitsForItsContainer) {
  run_job(Cluster::job("a"));
  EXPECT_EQ(c.run(DeleteJob{"default", "a", 0}), "");
  ASSERT_TRUE(c.has("a"));
  EXPECT_EQ(c.phase("a"), "Stopping Cancelled");
  c.exited("a", 143);
  EXPECT_FALSE(c.has("a"));
  EXPECT_EQ(c.effects(), "stop a-0#1, remove a-0#1, removelogs a-0#0");
}

TEST_F(Step, FinishedJobsGoAfterTheirTime) {
  api::Job job = Cluster::job("a");
  job.spec.removeAfter = Millis{60'000};
  run_job(job);
  c.exited("a", 0);
  c.advance(Millis{59'999});
  EXPECT_TRUE(c.has("a"));
  c.advance(Millis{1});
  EXPECT_FALSE(c.has("a"));
}

TEST_F(Step, BadCommandsAreRefusedAndChangeNothing) {
  ASSERT_EQ(c.submit("a"), "");
  int64_t version = c.get("a").metadata.resourceVersion;
  EXPECT_EQ(c.submit("a"),
            "metadata.name: there already is a job 'a' (choose another name, or delete the old job "
            "first)");
  api::Job stray = Cluster::job("b");
  stray.metadata.project = "nowhere";
  EXPECT_EQ(c.submit(stray),
            "metadata.project: there is no project 'nowhere' ('tessera get projects' lists them)");
  api::Job changed = c.get("a");
  changed.spec.image = "other";
  EXPECT_EQ(
      c.run(ReplaceJob{changed}),
      "spec.image: cannot be changed once the job is accepted (delete the job and submit it anew)");
  changed = c.get("a");
  changed.metadata.resourceVersion = version + 7;
  EXPECT_NE(c.run(ReplaceJob{changed}).find("has changed since you read it"), std::string::npos);
  EXPECT_EQ(c.run(SignalJob{"default", "a", "SIGUSR1"}), "job 'a' has no running task to signal");
  EXPECT_EQ(c.run(DeleteProject{"default", 0}),
            "project 'default' still has jobs or secrets (delete them first)");
  EXPECT_EQ(c.get("a").metadata.resourceVersion, version);
}

TEST_F(Step, PriorityMayChangeInTheQueue) {
  for (auto name : {"x", "y"}) run_job(Cluster::job(name, 1000));
  c.submit("a", 1000);
  c.submit("b", 1000);
  api::Job b = c.get("b");
  b.spec.priority = 5;
  EXPECT_EQ(c.run(ReplaceJob{b}), "");
  c.exited("x", 0);
  EXPECT_EQ(c.plan().substr(0, 8), "b: n[0]\n");
}

// After a restart: what the engine has and what we believe are made one.
TEST_F(Step, ReconcileClosesEveryDifference) {
  run_job(Cluster::job("here", 1000));
  run_job(Cluster::job("gone", 1000));
  c.run(Reconcile{.containers = {{"here-0", 1}, {"stray-0", 4}, {"gone-0", 7}},
                  .known = std::nullopt,
                  .started = {{"here-0", 1, {}}}});
  EXPECT_EQ(c.phase("here"), "Running");
  EXPECT_EQ(c.phase("gone"), "Failed Lost");
  EXPECT_EQ(c.effects(), "remove gone-0#7, remove stray-0#4, remove gone-0#1");
}

// The grace of a stop dies with the server that asked for it.
TEST_F(Step, ReconcileStopsAgainWhatWasBeingStopped) {
  run_job(Cluster::job("a"));
  c.run(StopJob{"default", "a", "", std::nullopt});
  c.run(EffectDone{c.state.changes.effects.back().id});
  c.effects();
  c.run(Reconcile{{{"a-0", 1}}, std::vector<Reconcile::Container>{}});
  EXPECT_EQ(c.effects(), "");  // the engine is the same: it still watches the grace
  c.run(Reconcile{{{"a-0", 1}}, std::nullopt});
  EXPECT_EQ(c.effects(), "stop a-0#1");
  c.run(StopJob{"default", "a", "", Millis{0}});
  EXPECT_EQ(c.effects(), "stop a-0#1");
}

TEST_F(Step, ReconcileWaitsForWhatIsStillToBeStarted) {
  c.submit("a", 1000);
  c.plan();
  int64_t effect = c.state.changes.effects.back().id;
  c.run(Reconcile{{}, std::nullopt});
  EXPECT_EQ(c.phase("a"), "Starting");  // its ensure is in the outbox
  c.run(EffectDone{effect});
  c.run(Reconcile{{}, std::vector<Reconcile::Container>{}});
  EXPECT_EQ(c.phase("a"), "Starting");  // it was not known to run when the engine was asked
  c.effects();
  c.run(Reconcile{{}, std::nullopt});
  EXPECT_EQ(c.phase("a"), "Starting");  // a start that died with the last server is made again
  EXPECT_EQ(c.effects(), "ensure a-0#1");
}

// The last server may have died between hearing of a start and writing it down.
TEST_F(Step, ReconcileHearsOfAStartThatWasNotReported) {
  api::Job job = Cluster::job("a");
  job.spec.maxRuntime = Millis{5000};
  c.submit(job);
  c.plan();
  c.run(EffectDone{c.state.changes.effects.back().id});
  c.effects();
  c.run(Reconcile{.containers = {{"a-0", 1}}, .known = std::nullopt, .started = {{"a-0", 1, {}}}});
  EXPECT_EQ(c.phase("a"), "Running");
  EXPECT_EQ(next_deadline(c.state), c.now + Millis{5000});
  EXPECT_EQ(c.effects(), "");
}

// An ensure without an answer was carried out, its container ran and vanished, and a second try of
// it had just made another when the server died.
TEST_F(Step, ReconcileStartsWhatWasStartedAndIsNot) {
  run_job(Cluster::job("a"));
  c.run(Reconcile{{{"a-0", 1}}, std::nullopt});
  EXPECT_EQ(c.effects(), "ensure a-0#1");
}

// A crash came before it was noted that the ensure was done; meanwhile its device fell ill.
TEST_F(Step, WhatIsKnownToRunDidNotFailToStart) {
  run_job(Cluster::job("a"));
  c.run(TaskStartFailed{"a-0", 1, api::Reason::kAcceleratorFault, "no node", /*guessed=*/true});
  EXPECT_EQ(c.phase("a"), "Running");
  c.run(TaskStartFailed{"a-0", 1, api::Reason::kStartFailed, "the engine says so"});
  EXPECT_EQ(c.phase("a"), "Failed StartFailed");
}

// So that it can be missed: started_containers() goes by the start time.
TEST_F(Step, AStopMayBeFasterThanTheNewsOfTheStart) {
  c.submit("a");
  c.plan();
  c.run(StopJob{"default", "a", "", std::nullopt});
  c.started("a");
  EXPECT_EQ(c.phase("a"), "Stopping Cancelled");
  EXPECT_TRUE(c.task("a").startTime.has_value());
}

TEST_F(Step, AHeldDeviceThatVanishesStaysInTheBooks) {
  run_job(Cluster::job("a", 1000));
  ObserveAccelerators seen{"n", {c.state.accelerators.at("n-1")}};
  c.run(seen);
  EXPECT_EQ(c.state.accelerators.at("n-0").status.message, "the device is gone");
  c.exited("a", 0);
  c.run(seen);
  EXPECT_FALSE(c.state.accelerators.contains("n-0"));
}

}  // namespace
}  // namespace tessera::core::testing
