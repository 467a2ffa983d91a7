// Cases about logs, exec and attach.

#include <thread>

#include "engine/conformance_stage.h"

namespace tessera::engine {

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
  EXPECT_EQ(stage.listed(), std::vector{launch.ref}) << "the container itself goes on";
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
  EXPECT_EQ(stage.listed(), std::vector{launch.ref});
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
  EXPECT_EQ(stage.listed(), std::vector{launch.ref}) << "an attach only lets go";
  auto session = stage.engine().attach(launch.ref, stage.events(second));
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_TRUE((*session)->send_stdin("two\n").ok());
  EXPECT_TRUE(stage.wait([&] { return second.text[1] == "two\n"; })) << "output from now on";
  EXPECT_TRUE((*session)->close_stdin().ok());
  EXPECT_TRUE(stage.wait([&] { return second.exit_code == 0; }));
  EXPECT_EQ(stage.await(launch.ref, What::kExited).exit_code, 0);
}

}  // namespace tessera::engine
