#include "engine/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <thread>

#include "base/text.h"

namespace tessera::engine {

namespace {

using What = Observation::What;
using Kind = Step::Kind;

constexpr Millis kLongGrace{600'000};  // longer than any case takes: no escalation
constexpr Millis kShortGrace{50};

Behaviour exits(int code) {
  return {.exit_code = code};
}
Behaviour runs_forever() {
  return {.steps = {{.kind = Kind::kRunForever}}};
}
Behaviour prints(std::vector<std::string> lines) {
  Behaviour out;
  for (std::string& line : lines) out.steps.push_back({.text = std::move(line)});
  return out;
}

// What one reader or session was given, by stream.
struct Output {
  std::string text[3];
  std::string all;
  std::optional<int> exit_code;
  int exits = 0;
};

// The engine under test with all that it reported. One per case; the engine's threads write to it.
class Stage {
 public:
  explicit Stage(EngineFixture& fixture) : fixture_(fixture) { restart(); }
  ~Stage() { fixture_.stop_engine(); }

  void restart() {
    engine_ = &fixture_.start_engine([this](Observation seen) {
      std::lock_guard guard(mutex_);
      seen_.push_back(std::move(seen));
      changed_.notify_all();
    });
  }

  Engine& engine() { return *engine_; }
  EngineFixture& fixture() { return fixture_; }

  bool wait(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    return fixture_.wait(lock, changed_, done);
  }
  template <class Change>
  void change(const Change& apply) {
    std::lock_guard guard(mutex_);
    apply();
    changed_.notify_all();
  }

  std::vector<Observation> seen(const TaskRef& ref) {
    std::lock_guard guard(mutex_);
    return seen_locked(ref);
  }

  bool ensure(const Launch& launch) {
    Status status = engine_->ensure(launch);
    if (!status.ok()) ADD_FAILURE() << "ensure: " << status.error().text();
    return status.ok();
  }
  // Waits for the observation; the test fails, and an empty one comes back, when it never comes.
  Observation await(const TaskRef& ref, What what) {
    std::optional<Observation> found;
    wait([&] {
      for (const Observation& one : seen_locked(ref))
        if (one.what == what && !found) found = one;
      return found.has_value();
    });
    if (found) return *found;
    ADD_FAILURE() << "task " << ref.task << " attempt " << ref.attempt << " never reported "
                  << (what == What::kStarted  ? "kStarted"
                      : what == What::kExited ? "kExited"
                                              : "kStartFailed");
    return {};
  }
  Observation run_to_end(const Launch& launch) {
    if (!ensure(launch)) return {};
    return await(launch.ref, What::kExited);
  }
  void run_until_started(const Launch& launch) {
    if (ensure(launch)) await(launch.ref, What::kStarted);
  }

  std::vector<TaskRef> running() {
    auto listed = engine_->list();
    std::vector<TaskRef> out;
    if (!listed.ok()) ADD_FAILURE() << "list: " << listed.error().text();
    for (const Running& one : listed.ok() ? *listed : std::vector<Running>{})
      out.push_back(one.ref);
    return out;
  }
  std::string log(LogQuery query) {
    std::string out;
    Status status = engine_->read_log(query, [&](int, std::string_view text) {
      out += text;
      return true;
    });
    if (!status.ok()) ADD_FAILURE() << "read_log: " << status.error().text();
    return out;
  }
  SessionEvents events(Output& into) {
    return {.on_output =
                [this, &into](int stream, std::string_view bytes) {
                  change([&] { into.text[stream] += bytes; });
                },
            .on_exit =
                [this, &into](int code) {
                  change([&] {
                    into.exit_code = code;
                    ++into.exits;
                  });
                }};
  }

 private:
  std::vector<Observation> seen_locked(const TaskRef& ref) {
    std::vector<Observation> out;
    std::copy_if(seen_.begin(), seen_.end(), std::back_inserter(out),
                 [&](const Observation& one) { return one.ref == ref; });
    return out;
  }

  EngineFixture& fixture_;
  Engine* engine_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Observation> seen_;
};

void expect_clean_end(Stage& stage, const TaskRef& ref) {
  auto seen = stage.seen(ref);
  ASSERT_EQ(seen.size(), 2u) << ref.task;
  EXPECT_EQ(seen[0].what, What::kStarted);
  EXPECT_EQ(seen[1].what, What::kExited);
  EXPECT_LE(seen[0].at, seen[1].at);
}

// --- Start and end -----------------------------------------------------------------------------

void reports_exit_codes(EngineFixture& fixture) {
  Stage stage(fixture);
  for (int code : {0, 1, 3, 255}) {
    TaskRef ref{cat("exits-", code), 1};
    Observation end = stage.run_to_end(fixture.launch(ref, exits(code)));
    EXPECT_EQ(end.exit_code, code);
    EXPECT_FALSE(end.oom_killed);
    expect_clean_end(stage, ref);
  }
  EXPECT_TRUE(stage.running().empty()) << "what was reported as exited is not running";
}

void reports_a_missing_image(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch_missing_image({"nowhere", 1});
  launch.pull_policy = api::PullPolicy::kNever;
  ASSERT_TRUE(stage.ensure(launch));
  Observation end = stage.await(launch.ref, What::kStartFailed);
  EXPECT_EQ(end.reason, api::Reason::kImagePull);
  EXPECT_NE(end.message.find(launch.image), std::string::npos) << end.message;
  EXPECT_EQ(stage.seen(launch.ref).size(), 1u);
  EXPECT_TRUE(stage.running().empty());
}

void reports_a_missing_program(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch_missing_program({"no-program", 1});
  ASSERT_TRUE(stage.ensure(launch));
  Observation end = stage.await(launch.ref, What::kStartFailed);
  EXPECT_EQ(end.reason, api::Reason::kStartFailed);
  EXPECT_FALSE(end.message.empty());
  EXPECT_EQ(stage.seen(launch.ref).size(), 1u);
  EXPECT_TRUE(stage.running().empty());
}

void reports_out_of_memory(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"hungry", 1}, {.steps = {{.kind = Kind::kFillMemory}}});
  Observation end = stage.run_to_end(launch);
  EXPECT_TRUE(end.oom_killed);
  EXPECT_EQ(end.exit_code, 128 + SIGKILL);
}

void starts_many_at_once(EngineFixture& fixture) {
  Stage stage(fixture);
  std::vector<Launch> launches;
  for (int i = 0; i < 4; ++i) launches.push_back(fixture.launch({cat("many-", i), 1}, exits(i)));
  std::vector<std::thread> threads;
  for (const Launch& launch : launches) threads.emplace_back([&] { stage.ensure(launch); });
  for (std::thread& thread : threads) thread.join();
  for (const Launch& launch : launches) {
    EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, launch.ref.task.back() - '0');
    expect_clean_end(stage, launch.ref);
  }
}

// --- Idempotence and fencing -------------------------------------------------------------------

void ensure_twice_is_as_good_as_once(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"twice", 1}, {.steps = {{.kind = Kind::kAwaitRelease}}});
  stage.run_until_started(launch);
  EXPECT_TRUE(stage.ensure(launch));
  EXPECT_EQ(stage.running(), std::vector{launch.ref});
  fixture.release(launch.ref);
  stage.await(launch.ref, What::kExited);
  EXPECT_TRUE(stage.ensure(launch)) << "also after the end, while it is not removed";
  EXPECT_TRUE(stage.engine().remove(launch.ref).ok());
  expect_clean_end(stage, launch.ref);
}

void refuses_an_older_attempt(EngineFixture& fixture) {
  Stage stage(fixture);
  TaskRef older{"fenced", 1}, newer{"fenced", 2};
  stage.run_until_started(fixture.launch(newer, runs_forever()));
  Engine& engine = stage.engine();
  for (const Status& refused :
       {engine.ensure(fixture.launch(older, exits(0))), engine.stop(older, "SIGKILL", Millis{0}),
        engine.signal(older, "SIGKILL"), engine.remove(older)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict) << refused.error().text();
  }
  EXPECT_EQ(stage.running(), std::vector{newer});
  EXPECT_TRUE(stage.seen(older).empty());
  EXPECT_EQ(stage.seen(newer).size(), 1u);
}

void a_newer_attempt_ends_the_older_first(EngineFixture& fixture) {
  Stage stage(fixture);
  TaskRef older{"replaced", 1}, newer{"replaced", 2};
  stage.run_until_started(fixture.launch(older, runs_forever()));
  ASSERT_TRUE(stage.ensure(fixture.launch(newer, runs_forever())));
  Observation started = stage.await(newer, What::kStarted);
  auto before = stage.seen(older);
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(before[1].what, What::kExited);
  EXPECT_LE(before[1].at, started.at) << "two attempts of a task never run at once";
  EXPECT_EQ(stage.running(), std::vector{newer});
}

// --- Stop, signal, remove ----------------------------------------------------------------------

void stop_ends_with_the_signal(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"stopped", 1}, runs_forever());
  stage.run_until_started(launch);
  EXPECT_TRUE(stage.engine().stop(launch.ref, "SIGTERM", kLongGrace).ok());
  EXPECT_TRUE(stage.engine().stop(launch.ref, "SIGTERM", kLongGrace).ok()) << "twice is once";
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 128 + SIGTERM);
  EXPECT_TRUE(stage.engine().stop(launch.ref, "SIGTERM", kLongGrace).ok()) << "after its end";
  expect_clean_end(stage, launch.ref);
}

void stop_kills_after_the_grace(EngineFixture& fixture) {
  Stage stage(fixture);
  Behaviour stubborn = runs_forever();
  stubborn.ignores_sigterm = true;
  Launch launch = fixture.launch({"stubborn", 1}, stubborn);
  stage.run_until_started(launch);
  EXPECT_TRUE(stage.engine().stop(launch.ref, "SIGTERM", kShortGrace).ok());
  Observation end = stage.await(launch.ref, What::kExited);
  EXPECT_EQ(end.exit_code, 128 + SIGKILL);
  EXPECT_FALSE(end.oom_killed);
}

void signal_reaches_the_program(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"signalled", 1}, runs_forever());
  stage.run_until_started(launch);
  EXPECT_TRUE(stage.engine().signal(launch.ref, "SIGUSR1").ok());
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 128 + SIGUSR1);
  Status gone = stage.engine().signal(launch.ref, "SIGUSR1");
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, Code::kNotFound);
}

void remove_kills_what_still_runs(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"removed", 1}, runs_forever());
  stage.run_until_started(launch);
  EXPECT_TRUE(stage.engine().remove(launch.ref).ok());
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 128 + SIGKILL);
  EXPECT_TRUE(stage.running().empty());
  EXPECT_TRUE(stage.engine().remove(launch.ref).ok());
  expect_clean_end(stage, launch.ref);
}

void what_is_not_there_is_easily_stopped(EngineFixture& fixture) {
  Stage stage(fixture);
  TaskRef nobody{"nobody", 1};
  EXPECT_TRUE(stage.engine().stop(nobody, "SIGTERM", kLongGrace).ok());
  EXPECT_TRUE(stage.engine().remove(nobody).ok());
  EXPECT_TRUE(stage.engine().remove_logs(nobody.task).ok());
  EXPECT_TRUE(stage.running().empty());
  EXPECT_TRUE(stage.seen(nobody).empty());
}

// --- Logs --------------------------------------------------------------------------------------

void logs_keep_lines_and_streams(EngineFixture& fixture) {
  Stage stage(fixture);
  Behaviour talk = prints({"one", "two", "three"});
  talk.steps.push_back({.text = "trouble", .stream = 2});
  Launch launch = fixture.launch({"talks", 1}, talk);
  stage.run_to_end(launch);
  std::string text[3];
  // Following a container that has ended reads all and returns.
  Status status = stage.engine().read_log({.ref = launch.ref, .follow = true},
                                          [&](int stream, std::string_view piece) {
                                            text[stream] += piece;
                                            return true;
                                          });
  ASSERT_TRUE(status.ok()) << status.error().text();
  EXPECT_EQ(text[1], "one\ntwo\nthree\n");
  EXPECT_EQ(text[2], "trouble\n");
}

void logs_answer_tail_since_and_timestamps(EngineFixture& fixture) {
  Stage stage(fixture);
  Behaviour talk = prints({"one", "two"});
  talk.steps.push_back({.kind = Kind::kAwaitRelease});
  talk.steps.push_back({.text = "three"});
  Launch launch = fixture.launch({"queried", 1}, talk);
  stage.run_until_started(launch);
  std::string early;
  std::thread reader([&] {
    (void)stage.engine().read_log({.ref = launch.ref, .follow = true},
                                  [&](int, std::string_view text) {
                                    stage.change([&] { early += text; });
                                    return true;
                                  });
  });
  EXPECT_TRUE(stage.wait([&] { return early == "one\ntwo\n"; }));
  fixture.release(launch.ref);
  stage.await(launch.ref, What::kExited);
  EXPECT_TRUE(stage.wait([&] { return early == "one\ntwo\nthree\n"; }));
  reader.join();

  EXPECT_EQ(stage.log({.ref = launch.ref, .follow = true}), "one\ntwo\nthree\n");
  EXPECT_EQ(stage.log({.ref = launch.ref, .tail = 2}), "two\nthree\n");
  EXPECT_EQ(stage.log({.ref = launch.ref, .tail = 0}), "");
  EXPECT_EQ(stage.log({.ref = launch.ref, .tail = 99}), "one\ntwo\nthree\n");

  std::string stamped = stage.log({.ref = launch.ref, .tail = 1, .timestamps = true});
  size_t space = stamped.find(' ');
  ASSERT_NE(space, std::string::npos) << stamped;
  EXPECT_EQ(stamped.substr(space + 1), "three\n");
  auto at = parse_instant(stamped.substr(0, space));
  ASSERT_TRUE(at.ok()) << stamped;
  EXPECT_EQ(stage.log({.ref = launch.ref, .since = *at}).ends_with("three\n"), true);
  EXPECT_EQ(stage.log({.ref = launch.ref, .since = *at + Millis{1}}), "");
}

void logs_show_a_prompt_before_its_newline(EngineFixture& fixture) {
  Stage stage(fixture);
  Behaviour asks{.steps = {{.kind = Kind::kPrintPart, .text = "name? "},
                           {.kind = Kind::kAwaitRelease},
                           {.text = "thanks"}}};
  Launch launch = fixture.launch({"asks", 1}, asks);
  stage.run_until_started(launch);
  std::string seen;
  std::thread reader([&] {
    (void)stage.engine().read_log({.ref = launch.ref, .follow = true},
                                  [&](int, std::string_view text) {
                                    stage.change([&] { seen += text; });
                                    return true;
                                  });
  });
  EXPECT_TRUE(stage.wait([&] { return seen == "name? "; })) << seen;
  fixture.release(launch.ref);
  EXPECT_TRUE(stage.wait([&] { return seen == "name? thanks\n"; })) << seen;
  stage.await(launch.ref, What::kExited);
  reader.join();
}

void logs_outlive_their_container(EngineFixture& fixture) {
  Stage stage(fixture);
  TaskRef first{"kept", 1}, second{"kept", 2};
  stage.run_to_end(fixture.launch(first, prints({"from the first"})));
  EXPECT_TRUE(stage.engine().remove(first).ok());
  stage.run_to_end(fixture.launch(second, prints({"from the second"})));
  EXPECT_TRUE(stage.engine().remove(second).ok());
  EXPECT_EQ(stage.log({.ref = first, .follow = true}), "from the first\n");
  EXPECT_EQ(stage.log({.ref = second, .follow = true}), "from the second\n");
  EXPECT_TRUE(stage.engine().remove_logs("kept").ok());
  Status gone =
      stage.engine().read_log({.ref = second}, [](int, std::string_view) { return true; });
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, Code::kNotFound);
}

void a_reader_can_stop(EngineFixture& fixture) {
  Stage stage(fixture);
  Behaviour talk = prints({"one", "two"});
  talk.steps.push_back({.kind = Kind::kRunForever});
  Launch launch = fixture.launch({"read-a-bit", 1}, talk);
  stage.run_until_started(launch);
  std::string seen;
  bool returned = false;
  std::thread reader([&] {
    (void)stage.engine().read_log({.ref = launch.ref, .follow = true},
                                  [&](int, std::string_view text) {
                                    stage.change([&] { seen += text; });
                                    return false;
                                  });
    stage.change([&] { returned = true; });
  });
  EXPECT_TRUE(stage.wait([&] { return returned; }));
  EXPECT_TRUE(seen.starts_with("one")) << seen;
  reader.join();
}

// --- Exec and attach ---------------------------------------------------------------------------

void exec_gives_output_and_exit_code(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"host", 1}, runs_forever());
  stage.run_until_started(launch);
  Behaviour guest = prints({"hello"});
  guest.steps.push_back({.text = "oops", .stream = 2});
  guest.exit_code = 7;
  Output output;
  auto session = stage.engine().exec(fixture.exec(launch.ref, guest), stage.events(output));
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_TRUE(stage.wait([&] { return output.exit_code.has_value(); }));
  EXPECT_EQ(output.exit_code, 7);
  EXPECT_EQ(output.text[1], "hello\n");
  EXPECT_EQ(output.text[2], "oops\n");
  (*session)->close();
  session->reset();
  EXPECT_EQ(output.exits, 1);
  EXPECT_EQ(stage.running(), std::vector{launch.ref}) << "the container itself goes on";
}

void exec_takes_standard_input(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"host-in", 1}, runs_forever());
  stage.run_until_started(launch);
  ExecRequest request = fixture.exec(launch.ref, {.steps = {{.kind = Kind::kEcho}}});
  request.stdin_open = true;
  Output output;
  auto session = stage.engine().exec(request, stage.events(output));
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_TRUE((*session)->send_stdin("ping\n").ok());
  EXPECT_TRUE(stage.wait([&] { return output.text[1] == "ping\n"; }));
  EXPECT_TRUE((*session)->close_stdin().ok());
  EXPECT_TRUE(stage.wait([&] { return output.exit_code == 0; }));
}

void closing_an_exec_kills_it(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"host-close", 1}, runs_forever());
  stage.run_until_started(launch);
  Output output;
  auto session =
      stage.engine().exec(fixture.exec(launch.ref, runs_forever()), stage.events(output));
  ASSERT_TRUE(session.ok()) << session.error().text();
  (*session)->close();
  EXPECT_TRUE(stage.wait([&] { return output.exit_code == 128 + SIGKILL; }));
  EXPECT_EQ(stage.running(), std::vector{launch.ref});
}

void exec_needs_a_running_container(EngineFixture& fixture) {
  Stage stage(fixture);
  TaskRef ref{"over", 1};
  stage.run_to_end(fixture.launch(ref, exits(0)));
  auto refused = stage.engine().exec(fixture.exec(ref, exits(0)), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kConflict) << refused.error().text();
  auto unknown = stage.engine().exec(fixture.exec({"unheard-of", 1}, exits(0)), {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::kNotFound) << unknown.error().text();
}

void attach_talks_to_the_program(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"attached", 1}, {.steps = {{.kind = Kind::kEcho}}});
  launch.stdin_open = true;
  stage.run_until_started(launch);
  Output first, second;
  {
    auto session = stage.engine().attach(launch.ref, stage.events(first));
    ASSERT_TRUE(session.ok()) << session.error().text();
    EXPECT_TRUE((*session)->send_stdin("one\n").ok());
    EXPECT_TRUE(stage.wait([&] { return first.text[1] == "one\n"; }));
    (*session)->close();
  }
  EXPECT_EQ(stage.running(), std::vector{launch.ref}) << "an attach only lets go";
  auto session = stage.engine().attach(launch.ref, stage.events(second));
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_TRUE((*session)->send_stdin("two\n").ok());
  EXPECT_TRUE(stage.wait([&] { return second.text[1] == "two\n"; })) << "output from now on";
  EXPECT_TRUE((*session)->close_stdin().ok());
  EXPECT_TRUE(stage.wait([&] { return second.exit_code == 0; }));
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 0);
}

// --- Restart -----------------------------------------------------------------------------------

void a_restart_finds_what_runs(EngineFixture& fixture) {
  Stage stage(fixture);
  Behaviour patient{.steps = {{.text = "before"}, {.kind = Kind::kAwaitRelease}, {.text = "after"}},
                    .exit_code = 5};
  Launch launch = fixture.launch({"survivor", 1}, patient);
  stage.run_until_started(launch);
  fixture.stop_engine();
  stage.restart();
  auto listed = stage.engine().list();
  ASSERT_TRUE(listed.ok()) << listed.error().text();
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ((*listed)[0].ref, launch.ref);
  EXPECT_TRUE((*listed)[0].started);
  EXPECT_TRUE(stage.ensure(launch)) << "it is there already";
  fixture.release(launch.ref);
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 5);
  expect_clean_end(stage, launch.ref);
  EXPECT_EQ(stage.log({.ref = launch.ref, .follow = true}), "before\nafter\n");
}

void a_restart_reports_what_ended_meanwhile(EngineFixture& fixture) {
  Stage stage(fixture);
  Behaviour patient{.steps = {{.kind = Kind::kAwaitRelease}}, .exit_code = 9};
  Launch launch = fixture.launch({"meanwhile", 1}, patient);
  stage.run_until_started(launch);
  fixture.stop_engine();
  fixture.release(launch.ref);
  fixture.await_end(launch.ref);
  stage.restart();
  EXPECT_TRUE(stage.running().empty());
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 9);
  expect_clean_end(stage, launch.ref);
  EXPECT_TRUE(stage.engine().remove(launch.ref).ok());
  fixture.stop_engine();
  stage.restart();
  expect_clean_end(stage, launch.ref);  // nothing more about what was removed
}

void a_restart_can_still_stop(EngineFixture& fixture) {
  Stage stage(fixture);
  Behaviour stubborn = runs_forever();
  stubborn.ignores_sigterm = true;
  Launch launch = fixture.launch({"stop-again", 1}, stubborn);
  stage.run_until_started(launch);
  EXPECT_TRUE(stage.engine().stop(launch.ref, "SIGTERM", kLongGrace).ok());
  fixture.stop_engine();
  stage.restart();
  EXPECT_TRUE(stage.engine().stop(launch.ref, "SIGTERM", kShortGrace).ok());
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 128 + SIGKILL);
}

constexpr ConformanceCase kCases[] = {
    {"ReportsExitCodes", reports_exit_codes},
    {"ReportsAMissingImage", reports_a_missing_image},
    {"ReportsAMissingProgram", reports_a_missing_program},
    {"ReportsOutOfMemory", reports_out_of_memory},
    {"StartsManyAtOnce", starts_many_at_once},
    {"EnsureTwiceIsAsGoodAsOnce", ensure_twice_is_as_good_as_once},
    {"RefusesAnOlderAttempt", refuses_an_older_attempt},
    {"ANewerAttemptEndsTheOlderFirst", a_newer_attempt_ends_the_older_first},
    {"StopEndsWithTheSignal", stop_ends_with_the_signal},
    {"StopKillsAfterTheGrace", stop_kills_after_the_grace},
    {"SignalReachesTheProgram", signal_reaches_the_program},
    {"RemoveKillsWhatStillRuns", remove_kills_what_still_runs},
    {"WhatIsNotThereIsEasilyStopped", what_is_not_there_is_easily_stopped},
    {"LogsKeepLinesAndStreams", logs_keep_lines_and_streams},
    {"LogsAnswerTailSinceAndTimestamps", logs_answer_tail_since_and_timestamps},
    {"LogsShowAPromptBeforeItsNewline", logs_show_a_prompt_before_its_newline},
    {"LogsOutliveTheirContainer", logs_outlive_their_container},
    {"AReaderCanStop", a_reader_can_stop},
    {"ExecGivesOutputAndExitCode", exec_gives_output_and_exit_code},
    {"ExecTakesStandardInput", exec_takes_standard_input},
    {"ClosingAnExecKillsIt", closing_an_exec_kills_it},
    {"ExecNeedsARunningContainer", exec_needs_a_running_container},
    {"AttachTalksToTheProgram", attach_talks_to_the_program},
    {"ARestartFindsWhatRuns", a_restart_finds_what_runs},
    {"ARestartReportsWhatEndedMeanwhile", a_restart_reports_what_ended_meanwhile},
    {"ARestartCanStillStop", a_restart_can_still_stop},
};

}  // namespace

std::span<const ConformanceCase> conformance_cases() {
  return kCases;
}

}  // namespace tessera::engine
