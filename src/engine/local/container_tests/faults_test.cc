// What goes wrong around containers: the daemon dies, its shims die or hang, the log cannot be
// written. The containers run on, and each end is told once.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <set>
#include <thread>

#include "base/text.h"
#include "engine/conformance_stage.h"
#include "engine/local/log/log_format.h"
#include "engine/local/names.h"
#include "engine/local/netns.h"
#include "engine/local/network.h"
#include "engine/local/shims.h"
#include "engine/local/task_table.h"
#include "fixture.h"

namespace tessera::local {

namespace {

using engine::Launch;
using engine::Observation;
using Kind = engine::Step::Kind;
using What = engine::Observation::What;

// Not so of a process that has ended and was not waited for by its parent.
bool runs(pid_t pid) {
  auto facts = read_file(cat("/proc/", pid, "/stat"));
  return facts.ok() && facts->find(") Z ") == std::string::npos;
}

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    if (auto missing = Setting::missing(); !missing.empty()) GTEST_SKIP() << missing;
    options_ = Setting::get().options();
    options_.log_limits = {.file_bytes = 256 << 10, .files = 4};
    fixture_ = std::make_unique<LocalFixture>(options_);
    stage_ = std::make_unique<engine::Stage>(*fixture_);
  }
  engine::Engine& engine() { return stage_->engine(); }
  PrivateContainerd& daemon() { return Setting::get().containerd(); }

  pid_t shim_of(const engine::TaskRef& ref) {
    pid_t shim = find_shim(daemon().socket(), container_id(ref));
    CHECK(shim > 0);
    return shim;
  }
  pid_t pid_of(const engine::TaskRef& ref) {
    auto info = daemon().client().task(container_id(ref));
    CHECK(info.ok() && info->pid > 0);
    return static_cast<pid_t>(info->pid);
  }
  // Reads on until `count` further lines have come.
  void await_lines(const engine::TaskRef& ref, int count) {
    Status read =
        engine().read_log({.ref = ref, .follow = true, .tail = 0}, [&](int, std::string_view text) {
          count -= static_cast<int>(std::count(text.begin(), text.end(), '\n'));
          return count > 0;
        });
    EXPECT_TRUE(read.ok() && count <= 0);
  }
  void expect_one_end(const engine::TaskRef& ref) {
    auto seen = stage_->seen(ref);
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].what, What::kStarted);
    EXPECT_EQ(seen[1].what, What::kExited);
  }

  LocalOptions options_;
  std::unique_ptr<LocalFixture> fixture_;
  std::unique_ptr<engine::Stage> stage_;
};

TEST_F(Faults, H1_ContainersPrintOnWhileTheDaemonIsKilled) {
  Launch launch = fixture_->script({"endless", 1}, "while :; do date; done");
  stage_->run_until_started(launch);
  await_lines(launch.ref, 100);
  pid_t before = daemon().pid();
  daemon().kill();
  await_lines(launch.ref, 5'000);  // more than any pipe holds
  // The call waits for the daemon that replaces the killed one.
  while (!engine().stop(launch.ref, "SIGKILL", Millis{0}).ok()) {
  }
  EXPECT_EQ(stage_->await(launch.ref, What::kExited).exit_code, 128 + SIGKILL);
  EXPECT_NE(daemon().pid(), before);
  expect_one_end(launch.ref);
}

TEST_F(Faults, AStartThatTheDaemonsEndCutsOffIsTriedAgain) {
  for (int round = 0; round < 4; ++round) {
    engine::TaskRef ref{cat("cut-", round), 1};
    Launch launch = fixture_->script(ref, "exit 5");
    // At another moment of the start each time.
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * round));
      daemon().kill();
    });
    Status started = engine().ensure(launch);
    killer.join();
    while (!started.ok()) {
      EXPECT_EQ(started.error().code, Code::kUnavailable) << started.error().text();
      started = engine().ensure(launch);
    }
    EXPECT_EQ(stage_->await(ref, What::kExited).exit_code, 5);
    expect_one_end(ref);
  }
}

TEST_F(Faults, AnEndWhileTheDaemonIsAwayIsTold) {
  for (int round = 0; round < 3; ++round) {
    engine::TaskRef ref{cat("away-", round), 1};
    Launch launch =
        fixture_->launch(ref, {.steps = {{.kind = Kind::kAwaitRelease}}, .exit_code = 40 + round});
    stage_->run_until_started(launch);
    daemon().kill();
    fixture_->release(ref);
    EXPECT_EQ(stage_->await(ref, What::kExited).exit_code, 40 + round);
    expect_one_end(ref);
  }
}

TEST_F(Faults, H1_ALogThatCannotBeWrittenBlocksNobody) {
  Launch launch = fixture_->launch(
      {"mute", 1}, {.steps = {{.text = "begin"}, {.kind = Kind::kAwaitRelease}}, .exit_code = 3});
  // After the release it prints far more than pipes and queues hold, then ends.
  std::string& text = launch.command[2];
  text = replace_all(text, "\nexit 3",
                     "\nhead -c 1000000 /dev/zero | tr '\\0' x | fold -w 100\nexit 3");
  stage_->run_until_started(launch);
  await_lines(launch.ref, 0);
  std::filesystem::remove_all(cat(options_.data_folder, "/engine/logs/mute"));
  fixture_->release(launch.ref);
  EXPECT_EQ(stage_->await(launch.ref, What::kExited).exit_code, 3);
}

TEST_F(Faults, AKilledShimTakesItsContainerAlong) {
  Launch launch = fixture_->launch({"shimless", 1}, {.steps = {{.kind = Kind::kRunForever}}});
  stage_->run_until_started(launch);
  pid_t pid = pid_of(launch.ref);
  ASSERT_EQ(::kill(shim_of(launch.ref), SIGKILL), 0);
  stage_->await(launch.ref, What::kExited);
  EXPECT_FALSE(runs(pid)) << "reported only once nothing runs any more";
  expect_one_end(launch.ref);
  EXPECT_TRUE(engine().remove(launch.ref).ok());
}

TEST_F(Faults, AContainerThatVanishesWithEveryoneWhoKnewIsLost) {
  Launch launch = fixture_->launch({"vanished", 1}, {.steps = {{.kind = Kind::kRunForever}}});
  stage_->run_until_started(launch);
  pid_t shim = shim_of(launch.ref), pid = pid_of(launch.ref);
  daemon().kill();
  ::kill(shim, SIGKILL);
  ::kill(pid, SIGKILL);
  Observation end = stage_->await(launch.ref, What::kExited);
  EXPECT_NE(end.exit_code, 0);
  if (end.exit_code == 255) {
    EXPECT_EQ(end.reason, api::Reason::kLost);
  }
  expect_one_end(launch.ref);
  EXPECT_TRUE(engine().remove(launch.ref).ok());
}

TEST_F(Faults, H2_AHungShimIsKilledInTheEnd) {
  Launch launch = fixture_->launch({"hung", 1}, {.steps = {{.kind = Kind::kRunForever}}});
  stage_->run_until_started(launch);
  pid_t shim = shim_of(launch.ref);
  ASSERT_EQ(::kill(shim, SIGSTOP), 0);
  Status removed = engine().remove(launch.ref);
  EXPECT_TRUE(removed.ok()) << removed.error().text();
  expect_one_end(launch.ref);
  EXPECT_FALSE(runs(shim));
}

// The first process was ended by the kernel, and the shim never heard of it: what it is asked
// about the container it cannot answer.
TEST_F(Faults, H2_AShimWithNothingLeftDoesNotHoldUpAStop) {
  Launch launch = fixture_->launch({"childless", 1}, {.steps = {{.kind = Kind::kRunForever}}});
  stage_->run_until_started(launch);
  pid_t shim = shim_of(launch.ref), pid = pid_of(launch.ref);
  ASSERT_EQ(::kill(shim, SIGSTOP), 0);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  Status stopped = engine().stop(launch.ref, "SIGTERM", Millis{50});
  EXPECT_TRUE(stopped.ok()) << stopped.error().text();
  stage_->await(launch.ref, What::kExited);
  expect_one_end(launch.ref);
  EXPECT_FALSE(runs(shim));
  EXPECT_TRUE(engine().remove(launch.ref).ok());
  EXPECT_TRUE(engine().remove_logs(launch.ref.task).ok());
}

TEST_F(Faults, H3_LogsAndAttachGoOnAfterTheDaemonIsRestarted) {
  Launch launch = fixture_->launch(
      {"talks-on", 1}, {.steps = {{.text = "begin"}, {.kind = Kind::kEcho}}, .exit_code = 4});
  launch.stdin_open = true;
  stage_->run_until_started(launch);
  daemon().kill();
  engine::Output output;
  auto session = engine().attach(launch.ref, stage_->events(output));
  ASSERT_TRUE(session.ok()) << session.error().text();
  ASSERT_TRUE((*session)->send_stdin("typed\n").ok());
  EXPECT_TRUE(stage_->wait([&] { return output.text[1].ends_with("typed\n"); }));
  EXPECT_TRUE((*session)->close_stdin().ok()) << "it waits until the daemon is back";
  EXPECT_EQ(stage_->await(launch.ref, What::kExited).exit_code, 4);
  EXPECT_EQ(stage_->log({.ref = launch.ref, .follow = true}), "begin\ntyped\n");
  expect_one_end(launch.ref);
}

TEST_F(Faults, WhatACrashLeavesIsCollected) {
  fixture_->stop_engine();
  NetworkOptions wanted{.folder = options_.data_folder + "/engine/net",
                        .owner = options_.data_folder};
  {
    Network network(wanted);
    ASSERT_TRUE(network.start({}).ok());
    ASSERT_TRUE(network.create_namespace("haunted", "ghost").ok());
    auto address = network.attach("haunted", "ghost");
    ASSERT_TRUE(address.ok()) << address.error().text();
    EXPECT_TRUE(address->starts_with("10.137.")) << *address;
  }
  std::string state = options_.data_folder + "/engine/state/ghost.1";
  ASSERT_TRUE(make_directories(state).ok());
  auto prepared = daemon().client().prepare_snapshot("overlayfs", "ghost.1", {},
                                                     {{"containerd.io/gc.root", "tessera"}});
  ASSERT_TRUE(prepared.ok()) << prepared.error().text();

  stage_->restart();
  namespace fs = std::filesystem;
  EXPECT_FALSE(fs::exists(wanted.folder + "/ns/ghost"));
  EXPECT_FALSE(fs::exists(wanted.folder + "/projects/haunted"));
  EXPECT_TRUE(fs::is_empty(wanted.folder + "/leases"));
  EXPECT_FALSE(fs::exists(state));
  EXPECT_FALSE(daemon().client().snapshot("overlayfs", "ghost.1").ok());
}

// A container as a start leaves it that was cut off right before its last step.
void create_like(const Containerd& client, const std::string& model, const engine::TaskRef& ref) {
  auto record = client.container(model);
  ASSERT_TRUE(record.ok());
  auto parent = client.snapshot(record->snapshotter, record->snapshot_key);
  ASSERT_TRUE(parent.ok());
  record->id = record->snapshot_key = container_id(ref);
  record->labels["tessera.dev/task"] = ref.task;
  record->spec_json = replace_all(record->spec_json, model, record->id);
  auto mounts = client.prepare_snapshot(record->snapshotter, record->id, parent->parent,
                                        {{"containerd.io/gc.root", "tessera"}});
  ASSERT_TRUE(mounts.ok());
  Status made = client.create_container(*record);
  ASSERT_TRUE(made.ok()) << made.error().text();
  auto created = client.create_task(record->id, *mounts, {}, record->runc);
  ASSERT_TRUE(created.ok()) << created.error().text();
}

// As when `runc start` is killed between its word to the container's first process, which waits to
// become the program, and the answer: that process finds nobody to answer to.
void cut_start_off(const Containerd& client, const std::string& container,
                   const std::string& fifo) {
  auto info = client.task(container);
  ASSERT_TRUE(info.ok());
  auto waiting = static_cast<pid_t>(info->pid);
  ASSERT_EQ(::kill(waiting, SIGSTOP), 0);
  Fd word(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(word) << fifo;
  word.reset();
  ASSERT_EQ(::kill(waiting, SIGCONT), 0);
  while (info.ok() && info->state != TaskState::kStopped) info = client.task(container);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->exit_code, 1);
}

TEST_F(Faults, AStartThatWasCutOffAtItsLastStepGoesOn) {
  Launch model = fixture_->script({"model", 1}, "trap 'exit 3' TERM; sleep 3600 & wait");
  stage_->run_until_started(model);
  fixture_->stop_engine();
  engine::TaskRef ready{"ready", 1}, unready{"unready", 1}, cut{"cut", 1};
  for (const engine::TaskRef& ref : {ready, unready, cut}) {
    std::string state = options_.data_folder + "/engine/state/";
    std::filesystem::copy(state + container_id(model.ref), state + container_id(ref));
    ASSERT_TRUE(create_netns(cat(options_.data_folder, "/engine/net/ns/", container_id(ref))).ok());
    ASSERT_NO_FATAL_FAILURE(create_like(daemon().client(), container_id(model.ref), ref));
  }
  std::filesystem::remove(options_.data_folder + "/engine/state/unready.1/ready");
  ASSERT_NO_FATAL_FAILURE(cut_start_off(daemon().client(), "cut.1",
                                        options_.run_folder + "/runc/tessera/cut.1/exec.fifo"));

  stage_->restart();
  auto running = engine().list();
  ASSERT_TRUE(running.ok());
  std::set<std::string> tasks;
  for (const engine::Running& one : *running)
    if (one.started) tasks.insert(one.ref.task);
  EXPECT_EQ(tasks, (std::set<std::string>{"model", "ready"}));
  EXPECT_FALSE(daemon().client().container("unready.1").ok());
  EXPECT_FALSE(daemon().client().container("cut.1").ok()) << "it never ran";
  auto info = daemon().client().task("ready.1");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->state, TaskState::kRunning);
}

TEST_F(Faults, ABundleThatTheDaemonHasForgottenStandsInNobodysWay) {
  std::string bundle = cat(daemon().folder(), "/r/state/io.containerd.runtime.v2.task/tessera/");
  // As a daemon leaves it that was killed between making the folder and starting the shim.
  for (const char* name : {"forgotten.1", "stray.1"})
    ASSERT_TRUE(make_directories(bundle + name + "/rootfs").ok());
  pid_t before = daemon().pid();
  daemon().kill();
  Launch launch = fixture_->script({"forgotten", 1}, "exit 6");
  Status started = engine().ensure(launch);
  while (!started.ok() && started.error().code == Code::kUnavailable)
    started = engine().ensure(launch);
  EXPECT_TRUE(started.ok());
  EXPECT_NE(daemon().pid(), before);
  EXPECT_EQ(stage_->await(launch.ref, What::kExited).exit_code, 6);
  stage_->restart();
  EXPECT_FALSE(exists(bundle + "stray.1"));
}

// A crash may keep one member from starting until the first has ended: it is not waited for.
TEST_F(Faults, AGangMemberStartsThoughTheFirstHasEnded) {
  for (bool removed : {false, true}) {
    std::string name = removed ? "removed" : "ended";
    std::vector<std::string> members = {cat(name, "-0"), cat(name, "-1")};
    for (int64_t index : {0, 1}) {
      Launch launch = fixture_->script({members[static_cast<size_t>(index)], 1},
                                       "grep -c " + name + "-0 /etc/hosts");
      launch.job = name;
      launch.index = index;
      launch.gang.tasks = members;
      EXPECT_EQ(stage_->run_to_end(launch).exit_code, removed && index == 1 ? 1 : 0);
      if (!removed) continue;
      EXPECT_TRUE(engine().remove(launch.ref).ok());
    }
  }
}

// A daemon and a shim that are killed while runc makes a container take the bundle with them, but
// not what runc has made so far.
TEST_F(Faults, WhatRuncHasBegunStandsInNobodysWay) {
  std::string notes = options_.run_folder + "/runc/tessera/";
  std::string cgroup =
      cat("/sys/fs/cgroup/devices/", private_name("tessera-", options_.data_folder, {}), "/");
  if (!exists("/sys/fs/cgroup/devices"))
    cgroup.replace(0, cgroup.find("/tessera"), "/sys/fs/cgroup");
  for (const char* name : {"begun.1", "stray.1"}) {
    ASSERT_TRUE(make_directories(notes + name).ok());
    ASSERT_TRUE(make_directories(cgroup + name).ok());
  }
  ASSERT_TRUE(make_directories(options_.data_folder + "/engine/state/begun.1").ok());
  Launch launch = fixture_->script({"begun", 1}, "exit 7");
  EXPECT_EQ(stage_->run_to_end(launch).exit_code, 7);
  stage_->restart();
  for (const std::string& folder : {notes, cgroup}) EXPECT_FALSE(exists(folder + "stray.1"));
}

TEST_F(Faults, AddressesComeBack) {
  Launch launch = fixture_->script({"addressed", 1}, "hostname -i");
  launch.project = "fresh";
  for (int64_t attempt : {1, 2, 3}) {
    launch.ref.attempt = attempt;
    stage_->run_to_end(launch);
    EXPECT_TRUE(engine().remove(launch.ref).ok());
  }
  stage_->restart();  // what was ready for the next container of this project goes, too
  int leases = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(options_.data_folder + "/engine/net/leases"))
    leases += entry.path().filename().string().starts_with("10.") ? 1 : 0;
  EXPECT_EQ(leases, 0);
}

}  // namespace

}  // namespace tessera::local
