// What the conformance list says nothing about: faults, crashes, the books, determinism.

#include <gtest/gtest.h>

#include <condition_variable>
#include <csignal>
#include <mutex>

#include "base/rng.h"
#include "base/text.h"
#include "engine/sim/books.h"
#include "engine/sim/log.h"
#include "engine/sim/process.h"
#include "engine/sim/sim_engine.h"

namespace tessera::engine {

namespace {

using What = Observation::What;

// A world with one engine after the other on it, and all that they observed.
class Bench {
 public:
  explicit Bench(const SimOptions& options = {}) : world(options) { restart(); }

  void restart() {
    engine = std::make_unique<SimEngine>(world);
    Status started = engine->start([this](Observation seen) {
      this->seen.push_back(seen);
      trace += cat(world.now().ms, " ", seen.ref.task, "/", seen.ref.attempt, " ",
                   static_cast<int>(seen.what), " ", seen.exit_code, " ", seen.at.ms, "\n");
    });
    CHECK(started.ok());
  }
  void crash() { engine.reset(); }

  Launch launch(const std::string& task, std::vector<std::string> command, int64_t attempt = 1) {
    return {.ref = {task, attempt}, .image = "any", .command = std::move(command)};
  }
  // Holds a whole device of 80 GiB, or a slice of it.
  Launch with_device(Launch launch, const std::string& device, MiB slice = {}) {
    bool exclusive = slice.value == 0;
    launch.allocations.push_back({.accelerator = device,
                                  .exclusive = exclusive,
                                  .memory = exclusive ? MiB{80 * 1024} : slice});
    api::Accelerator accelerator;
    accelerator.metadata.name = device;
    accelerator.status.memory = MiB{80 * 1024};
    launch.accelerators.push_back(accelerator);
    return launch;
  }
  void ensure(const Launch& launch) {
    Status status = engine->ensure(launch);
    EXPECT_TRUE(status.ok()) << status.error().text();
  }
  std::vector<What> kinds(const std::string& task) const {
    std::vector<What> out;
    for (const Observation& one : seen)
      if (one.ref.task == task) out.push_back(one.what);
    return out;
  }
  std::string log(const TaskRef& ref) {
    std::string out;
    Status status = engine->read_log({.ref = ref}, [&](int, std::string_view text) {
      out += text;
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.error().text();
    return out;
  }

  SimWorld world;
  std::unique_ptr<SimEngine> engine;
  std::vector<Observation> seen;
  std::string trace;
};

const std::vector<What> kNothing;
const std::vector<What> kStartedOnly = {What::kStarted};
const std::vector<What> kFailed = {What::kStartFailed};
const std::vector<What> kWhole = {What::kStarted, What::kExited};
const std::vector<What> kExitTwice = {What::kStarted, What::kExited, What::kExited};

// --- Programs ----------------------------------------------------------------------------------

TEST(SimProgram, UnderstandsItsWordsAndNothingElse) {
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"exit", "3"}, Words{"sleep", "90s"}, Words{"sleep", "10"},
                             Words{"print", "a", "print", "exit", "loop"}, Words{"ignore-term"},
                             Words{"wait", "cat", "oom"}, Words{"print-error", "a"}})
    EXPECT_TRUE(sim::parse_program(words)) << join(words, " ");
  for (const Words& words :
       {Words{}, Words{"sh", "-c", "exit 3"}, Words{"exit"}, Words{"exit", "256"},
        Words{"exit", "-1"}, Words{"sleep", "long"}, Words{"print"}, Words{"loop", "python"}})
    EXPECT_FALSE(sim::parse_program(words)) << join(words, " ");
}

TEST(SimProgram, TakesTheTimeThatItSays) {
  Bench bench;
  bench.ensure(bench.launch("a", {"print", "one", "sleep", "90s", "print", "two", "exit", "3"}));
  bench.world.advance(Millis{90'099});
  EXPECT_EQ(bench.kinds("a"), kStartedOnly);
  EXPECT_EQ(bench.log({"a", 1}), "one\n");
  bench.world.advance(Millis{1});
  ASSERT_EQ(bench.kinds("a"), kWhole);
  EXPECT_EQ(bench.seen[1].exit_code, 3);
  EXPECT_EQ(bench.seen[1].at - bench.seen[0].at, Millis{90'000});
  EXPECT_EQ(bench.log({"a", 1}), "one\ntwo\n");
  EXPECT_EQ(bench.world.next_event(), std::nullopt);
}

TEST(SimProgram, AnyOtherRunsForAWhileThatTheSeedDecides) {
  auto durations = [](uint64_t seed) {
    Bench bench({.seed = seed});
    for (int i = 0; i < 20; ++i) bench.ensure(bench.launch(cat("t", i), {"python", "train.py"}));
    bench.world.advance(Millis{200'000});
    std::map<std::string, int64_t> out;
    for (const Observation& one : bench.seen)
      if (one.what == What::kExited) out[one.ref.task] = one.at.ms;
    return out;
  };
  auto first = durations(1);
  EXPECT_EQ(first.size(), 20u);
  EXPECT_EQ(first, durations(1));
  EXPECT_NE(first, durations(2));
}

TEST(SimProgram, KnowsSignalsByNameAndNumber) {
  EXPECT_EQ(sim::signal_number("SIGTERM"), SIGTERM);
  EXPECT_EQ(sim::signal_number("USR1"), SIGUSR1);
  EXPECT_EQ(sim::signal_number("9"), SIGKILL);
  for (const char* wrong : {"", "SIG", "SIGNOTHING", "0", "-1", "999"})
    EXPECT_EQ(sim::signal_number(wrong), std::nullopt) << wrong;
  Bench bench;
  bench.ensure(bench.launch("a", {"loop"}));
  bench.world.advance(Millis{1000});
  Status refused = bench.engine->signal({"a", 1}, "SIGNOTHING", Whom::kAll);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalid);
}

// --- Faults ------------------------------------------------------------------------------------

TEST(SimFaultsTest, EachDoesWhatItSays) {
  struct {
    SimFault fault;
    Millis after;  // of an ensure() at 0 of a program of a second
    std::vector<What> seen;
    size_t listed;
    int starts;
  } cases[] = {
      {SimFault::kStartFails, Millis{100}, kFailed, 1, 0},
      {SimFault::kStartSlow, Millis{60'099}, kNothing, 1, 0},
      {SimFault::kStartSlow, Millis{60'100}, kStartedOnly, 1, 1},
      {SimFault::kLost, Millis{100'000}, kStartedOnly, 0, 1},
      {SimFault::kExitDelayed, Millis{31'099}, kStartedOnly, 1, 1},
      {SimFault::kExitDelayed, Millis{31'100}, kWhole, 1, 1},
      {SimFault::kExitDuplicated, Millis{31'099}, kWhole, 1, 1},
      {SimFault::kExitDuplicated, Millis{31'100}, kExitTwice, 1, 1},
  };
  for (const auto& row : cases) {
    SCOPED_TRACE(cat("fault ", static_cast<int>(row.fault), " after ", row.after.value));
    Bench bench;
    bench.world.script(row.fault, "a");
    bench.ensure(bench.with_device(bench.launch("a", {"sleep", "1s"}), "GPU-1"));
    bench.world.advance(row.after);
    EXPECT_EQ(bench.kinds("a"), row.seen);
    EXPECT_EQ(bench.world.containers().size(), row.listed);
    EXPECT_EQ(bench.world.starts()[TaskRef("a", 1)], row.starts);
    bool runs = row.fault == SimFault::kStartSlow && row.starts > 0;
    EXPECT_EQ(bench.world.live().size(), runs ? 1u : 0u);
    EXPECT_EQ(bench.world.holders().size(), runs ? 1u : 0u) << "free since its end, not its report";
    // The fault struck once, and only this task.
    bench.ensure(bench.launch("b", {"exit", "0"}));
    bench.world.advance(Millis{100});
    EXPECT_EQ(bench.kinds("b"), kWhole);
  }
}

TEST(SimFaultsTest, ADelayedExitTellsWhenItWas) {
  Bench bench;
  bench.world.script(SimFault::kExitDelayed);
  bench.ensure(bench.launch("a", {"sleep", "1s"}));
  bench.world.advance(Millis{60'000});
  ASSERT_EQ(bench.kinds("a"), kWhole);
  EXPECT_EQ(bench.seen[1].at - bench.seen[0].at, Millis{1000});
}

TEST(SimFaultsTest, AFailedCallDoesNothingAndALostAnswerDoes) {
  Bench bench;
  bench.world.script(SimFault::kCallFails, "a", 2);
  Launch launch = bench.launch("a", {"loop"});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(bench.engine->ensure(launch).error().code, Code::kUnavailable);
  EXPECT_TRUE(bench.world.containers().empty());
  bench.world.script(SimFault::kAnswerLost, "a");
  EXPECT_EQ(bench.engine->ensure(launch).error().code, Code::kTimeout);
  bench.ensure(launch);
  bench.world.advance(Millis{1000});
  EXPECT_EQ(bench.kinds("a"), kStartedOnly);
  EXPECT_EQ(bench.world.starts()[launch.ref], 1);
}

TEST(SimFaultsTest, APowerCutTakesAllContainers) {
  Bench bench;
  for (const char* task : {"a", "b"})
    bench.ensure(bench.with_device(bench.launch(task, {"loop"}), cat("GPU-", task)));
  bench.world.advance(Millis{1000});
  bench.crash();
  bench.world.lose_all();
  bench.restart();
  bench.world.advance(Millis{100'000});
  EXPECT_TRUE(bench.engine->list()->empty());
  EXPECT_EQ(bench.kinds("a"), kStartedOnly);
  EXPECT_TRUE(bench.world.holders().empty());
  bench.ensure(bench.launch("a", {"exit", "0"}, 2));
  bench.world.advance(Millis{1000});
  EXPECT_EQ(bench.seen.back().ref, TaskRef("a", 2));
  EXPECT_TRUE(bench.world.violations().empty());
}

// --- The death of the server -------------------------------------------------------------------

TEST(SimCrash, AnExitIsToldAgainUntilItsContainerIsRemoved) {
  Bench bench;
  bench.ensure(bench.launch("a", {"sleep", "1s", "exit", "4"}));
  bench.world.advance(Millis{500});
  bench.crash();
  bench.world.advance(Millis{10'000});
  bench.restart();
  EXPECT_EQ(bench.engine->list()->size(), 1u);
  bench.world.advance(Millis{0});
  EXPECT_EQ(bench.kinds("a"), kWhole);
  bench.crash();
  bench.restart();
  bench.world.advance(Millis{0});
  EXPECT_EQ(bench.kinds("a"), kExitTwice) << "this server may not know it yet";
  EXPECT_EQ(bench.seen[1].exit_code, bench.seen[2].exit_code);
  EXPECT_EQ(bench.seen[1].at, bench.seen[2].at);
  EXPECT_TRUE(bench.engine->remove({"a", 1}).ok());
  bench.crash();
  bench.restart();
  bench.world.advance(Millis{1000});
  EXPECT_EQ(bench.kinds("a"), kExitTwice);
}

TEST(SimCrash, AStartUnderWayStaysCreatedUntilItIsAskedForAgain) {
  Bench bench;
  Launch launch = bench.launch("a", {"loop"});
  bench.ensure(launch);
  bench.crash();
  bench.world.advance(Millis{10'000});
  bench.restart();
  bench.world.advance(Millis{10'000});
  auto listed = bench.engine->list();
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_FALSE((*listed)[0].started);
  EXPECT_EQ(bench.kinds("a"), kNothing);
  bench.ensure(launch);
  bench.world.advance(Millis{1000});
  EXPECT_EQ(bench.kinds("a"), kStartedOnly);
}

TEST(SimCrash, AnEngineThatIsGoneAnswersNothing) {
  Bench bench;
  bench.ensure(bench.launch("a", {"loop"}));
  bench.engine->crash();
  EXPECT_EQ(bench.engine->list().error().code, Code::kUnavailable);
  EXPECT_EQ(bench.engine->ensure(bench.launch("b", {"loop"})).error().code, Code::kUnavailable);
  bench.world.advance(Millis{10'000});
  EXPECT_TRUE(bench.seen.empty());
}

TEST(SimCrash, WhatIsStoppedBeforeItsStartNeverStarts) {
  Bench bench;
  bench.ensure(bench.with_device(bench.launch("a", {"loop"}), "GPU-1"));
  EXPECT_TRUE(bench.engine->stop({"a", 1}, "SIGTERM", Millis{1000}).ok());
  bench.world.advance(Millis{10'000});
  EXPECT_EQ(bench.kinds("a"), kFailed);
  EXPECT_TRUE(bench.world.starts().empty());
}

// --- The books ---------------------------------------------------------------------------------

TEST(SimBooks, TellWhoHoldsADevice) {
  Bench bench;
  bench.ensure(bench.with_device(bench.launch("a", {"sleep", "10s"}), "GPU-1"));
  EXPECT_TRUE(bench.world.holders().empty()) << "not started yet";
  bench.world.advance(Millis{1000});
  std::map<std::string, std::set<TaskRef>> held = {{"GPU-1", {{"a", 1}}}};
  EXPECT_EQ(bench.world.holders(), held);
  EXPECT_EQ(bench.world.live(), (std::set<TaskRef>{{"a", 1}}));
  bench.world.advance(Millis{10'000});
  EXPECT_TRUE(bench.world.holders().empty());
  bench.ensure(bench.with_device(bench.launch("b", {"loop"}), "GPU-1"));
  bench.world.advance(Millis{1000});
  EXPECT_TRUE(bench.world.violations().empty());
}

TEST(SimBooks, RecordEveryBreachInASentence) {
  Bench bench;
  MiB half{40 * 1024};
  auto device = [&](const std::string& task, MiB slice = {}) {
    return bench.with_device(bench.launch(task, {"loop"}), "GPU-1", slice);
  };
  struct {
    std::vector<Launch> launches;
    std::string_view expected;  // in the first violation; none when empty
  } cases[] = {
      {{device("a", half), device("b", half)}, ""},
      {{device("a"), device("b")}, "GPU-1 is held exclusively, but by b/1 and a/1"},
      {{device("a", half), device("b")}, "GPU-1 is held exclusively, but by b/1 and a/1"},
      {{device("a", half), device("b", half + MiB{1})}, "GPU-1 has 80Gi, but 81921Mi of it"},
      {{bench.launch("a", {}, 1), bench.launch("a", {}, 2)}, "a/2 was started while a/1 is live"},
  };
  for (const auto& row : cases) {
    sim::Books books;
    for (const Launch& launch : row.launches) books.started(launch, {});
    SCOPED_TRACE(row.expected);
    ASSERT_EQ(books.violations().empty(), row.expected.empty());
    if (row.expected.empty()) continue;
    EXPECT_NE(books.violations()[0].find(row.expected), std::string::npos) << books.violations()[0];
  }
}

TEST(SimBooks, RecordAnAttemptAfterANewerOneAndRepeatedStarts) {
  Bench bench;
  for (int64_t attempt : {2, 1, 1}) {
    bench.ensure(bench.launch("a", {"exit", "0"}, attempt));
    bench.world.advance(Millis{1000});
    EXPECT_TRUE(bench.engine->remove({"a", attempt}).ok());
  }
  EXPECT_EQ(bench.world.starts(), (std::map<TaskRef, int>{{{"a", 1}, 2}, {{"a", 2}, 1}}));
  auto violations = bench.world.violations();
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_NE(violations[0].find("a/1 was started after attempt 2"), std::string::npos);
}

// --- Determinism -------------------------------------------------------------------------------

// A course with every fault, crashes, stops and removals, all drawn from the seed.
std::string course_of(uint64_t seed) {
  Bench bench({.seed = seed});
  SimFaults faults;
  for (int fault = 0; fault <= static_cast<int>(SimFault::kAnswerLost); ++fault)
    faults.percent[static_cast<SimFault>(fault)] = 10;
  bench.world.set_faults(faults);
  Rng rng(seed);
  for (int step = 0; step < 400; ++step) {
    TaskRef ref{cat("t", rng.below(20)), static_cast<int64_t>(1 + step / 40)};
    switch (rng.below(10)) {
      case 0:
        (void)bench.engine->stop(ref, "SIGTERM", Millis{5000});
        break;
      case 1:
        (void)bench.engine->remove(ref);
        break;
      case 2:
        bench.crash();
        bench.restart();
        break;
      default:
        (void)bench.engine->ensure(bench.launch(ref.task, {"train"}, ref.attempt));
    }
    bench.world.advance(Millis{static_cast<int64_t>(rng.below(3000))});
  }
  for (const auto& [ref, times] : bench.world.starts())
    bench.trace += cat(ref.task, "/", ref.attempt, " x", times, "\n");
  EXPECT_TRUE(bench.world.violations().empty()) << "seed " << seed;
  return bench.trace;
}

TEST(SimDeterminism, TheSameSeedGivesTheSameCourse) {
  for (uint64_t seed : {1, 2, 3}) {
    std::string course = course_of(seed);
    EXPECT_GT(course.size(), 1000u);
    EXPECT_EQ(course, course_of(seed)) << "seed " << seed;
  }
  EXPECT_NE(course_of(1), course_of(2));
}

// --- The rest ----------------------------------------------------------------------------------

TEST(SimRealTime, TimePassesByItself) {
  SimWorld world({.real_time = true, .start_delay = Millis{1}});
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Observation> seen;
  SimEngine engine(world);
  ASSERT_TRUE(engine
                  .start([&](Observation one) {
                    std::lock_guard guard(mutex);
                    seen.push_back(one);
                    changed.notify_all();
                  })
                  .ok());
  Launch launch{.ref = {"a", 1}, .image = "any", .command = {"sleep", "20ms", "exit", "6"}};
  ASSERT_TRUE(engine.ensure(launch).ok());
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return seen.size() == 2; });
  EXPECT_EQ(seen[1].exit_code, 6);
  EXPECT_GE(seen[1].at - seen[0].at, Millis{20});
}

TEST(SimEngineTest, DescribesItsNode) {
  Bench bench({.node = "gpu-7", .cpus = MilliCpu{8000}, .memory = MiB{1024}});
  auto node = bench.engine->node();
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(node->metadata.name, "gpu-7");
  EXPECT_TRUE(node->status.ready);
  EXPECT_EQ(node->status.cpus, MilliCpu{8000});
  EXPECT_EQ(node->status.memory, MiB{1024});
  bench.world.set_ready(false, "the disk is full");
  EXPECT_EQ(bench.engine->node()->status.ready, false);
  EXPECT_EQ(bench.engine->node()->status.message, "the disk is full");
}

TEST(SimEngineTest, KeepsImages) {
  Bench bench;
  std::string said;
  auto progress = [&](std::string_view line) { said = line; };
  auto pulled = bench.engine->pull_image("busybox:1", {}, progress);
  ASSERT_TRUE(pulled.ok());
  EXPECT_EQ(said, "pulling busybox:1");
  EXPECT_EQ(pulled->digest.size(), 71u);
  auto imported = bench.engine->import_image("/tmp/tool.tar", "", progress);
  ASSERT_TRUE(imported.ok());
  EXPECT_EQ(imported->at(0).reference, "tool:latest");
  EXPECT_EQ(bench.engine->images()->size(), 2u);
  EXPECT_TRUE(bench.engine->remove_image("busybox:1").ok());
  EXPECT_EQ(bench.engine->remove_image("busybox:1").error().code, Code::kNotFound);
  EXPECT_EQ(bench.engine->pull_image("missing:1", {}, progress).error().code, Code::kNotFound);
}

TEST(SimEngineTest, AnExecOfAMissingProgramEndsWith127) {
  Bench bench;
  bench.ensure(bench.launch("a", {"loop"}));
  bench.world.advance(Millis{1000});
  std::optional<int> code;
  std::string text;
  auto session =
      bench.engine->exec({.task = "a", .argv = {"missing-tool"}},
                         {.on_output = [&](int, std::string_view bytes) { text += bytes; },
                          .on_exit = [&](int exit_code) { code = exit_code; }});
  ASSERT_TRUE(session.ok()) << session.error().text();
  bench.world.advance(Millis{0});
  EXPECT_EQ(code, 127);
  EXPECT_EQ(text, "missing-tool: not found\n");
}

TEST(SimEngineTest, AnExecEndsWithItsContainer) {
  Bench bench;
  bench.ensure(bench.launch("a", {"sleep", "10s"}));
  bench.world.advance(Millis{1000});
  int exits = 0, code = 0;
  auto session = bench.engine->exec({.task = "a", .argv = {"loop"}}, {.on_exit = [&](int ended) {
                                      ++exits;
                                      code = ended;
                                    }});
  ASSERT_TRUE(session.ok()) << session.error().text();
  bench.world.advance(Millis{100'000});
  EXPECT_EQ(exits, 1);
  EXPECT_EQ(code, 128 + SIGKILL);
}

TEST(SimLog, DropsWhatIsBeyondItsLimit) {
  sim::Log log;
  for (int i = 0; i < 3; ++i) log.append({}, 1, std::string(sim::kLogLimitBytes / 2 + 1, 'x'));
  size_t bytes = 0;
  for (const sim::LogPiece& piece : log.from(0)) bytes += piece.text.size();
  EXPECT_EQ(bytes, sim::kLogLimitBytes);
}

}  // namespace

}  // namespace tessera::engine
