#include "engine/conformance.h"

#include <thread>

#include "engine/conformance_stage.h"

namespace tessera::engine {

namespace {

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
    EXPECT_EQ(stage.listed(), std::vector{ref}) << "it ended, but was not removed";
    EXPECT_TRUE(stage.engine().remove(ref).ok());
    EXPECT_TRUE(stage.listed().empty());
  }
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
  EXPECT_TRUE(stage.engine().remove(launch.ref).ok());
  EXPECT_TRUE(stage.listed().empty());
}

void reports_a_missing_program(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch_missing_program({"no-program", 1});
  ASSERT_TRUE(stage.ensure(launch));
  Observation end = stage.await(launch.ref, What::kStartFailed);
  EXPECT_EQ(end.reason, api::Reason::kStartFailed);
  EXPECT_FALSE(end.message.empty());
  EXPECT_EQ(stage.seen(launch.ref).size(), 1u);
  EXPECT_TRUE(stage.engine().remove(launch.ref).ok());
  EXPECT_TRUE(stage.listed().empty());
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
  EXPECT_EQ(stage.listed(), std::vector{launch.ref});
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
        engine.signal(older, "SIGKILL", engine::Whom::kAll), engine.remove(older)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict) << refused.error().text();
  }
  EXPECT_EQ(stage.listed(), std::vector{newer});
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
  EXPECT_EQ(stage.listed(), std::vector{newer});
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

void stop_uses_the_launchs_own_signal(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"particular", 1}, runs_forever());
  launch.stop_signal = "SIGUSR1";
  stage.run_until_started(launch);
  EXPECT_TRUE(stage.engine().stop(launch.ref, "", kLongGrace).ok());
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 128 + SIGUSR1);
  Launch plain = fixture.launch({"plain", 1}, runs_forever());
  stage.run_until_started(plain);
  EXPECT_TRUE(stage.engine().stop(plain.ref, "", kLongGrace).ok());
  EXPECT_EQ(stage.await(plain.ref, What::kExited).exit_code, 128 + SIGTERM);
}

void signal_reaches_the_program(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"signalled", 1}, runs_forever());
  stage.run_until_started(launch);
  EXPECT_TRUE(stage.engine().signal(launch.ref, "SIGUSR1", engine::Whom::kAll).ok());
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 128 + SIGUSR1);
  Launch alone = fixture.launch({"alone", 1}, runs_forever());
  stage.run_until_started(alone);
  EXPECT_TRUE(stage.engine().signal(alone.ref, "SIGUSR2", engine::Whom::kFirst).ok());
  EXPECT_EQ(stage.await(alone.ref, What::kExited).exit_code, 128 + SIGUSR2);
  Status gone = stage.engine().signal(launch.ref, "SIGUSR1", engine::Whom::kAll);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, Code::kNotFound);
}

void remove_kills_what_still_runs(EngineFixture& fixture) {
  Stage stage(fixture);
  Launch launch = fixture.launch({"removed", 1}, runs_forever());
  stage.run_until_started(launch);
  EXPECT_TRUE(stage.engine().remove(launch.ref).ok());
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 128 + SIGKILL);
  EXPECT_TRUE(stage.listed().empty());
  EXPECT_TRUE(stage.engine().remove(launch.ref).ok());
  expect_clean_end(stage, launch.ref);
}

void what_is_not_there_is_easily_stopped(EngineFixture& fixture) {
  Stage stage(fixture);
  TaskRef nobody{"nobody", 1};
  EXPECT_TRUE(stage.engine().stop(nobody, "SIGTERM", kLongGrace).ok());
  EXPECT_TRUE(stage.engine().remove(nobody).ok());
  EXPECT_TRUE(stage.engine().remove_logs(nobody.task).ok());
  EXPECT_TRUE(stage.listed().empty());
  EXPECT_TRUE(stage.seen(nobody).empty());
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
  EXPECT_EQ(stage.listed(), std::vector{launch.ref}) << "an exit still to be reported is no loss";
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
    {"StopUsesTheLaunchsOwnSignal", stop_uses_the_launchs_own_signal},
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
