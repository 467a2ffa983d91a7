#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace tessera {
namespace {

ProgramSpec shell(std::string script) {
  ProgramSpec spec;
  spec.argv = {"sh", "-c", std::move(script)};
  return spec;
}

TEST(RunProgramTest, GivesOutputsAndExitCode) {
  ProgramSpec spec = shell("cat; echo $WORD >&2; exit 3");
  spec.input = std::string(200'000, 'x');  // more than a pipe holds
  spec.env = {{"WORD", "hello"}};
  Result<ProgramOutput> output = run_program(spec);
  ASSERT_TRUE(output.ok()) << output.error().text();
  EXPECT_EQ(output->out, spec.input);
  EXPECT_EQ(output->err, "hello\n");
  EXPECT_EQ(output->exit_code, 3);
}

TEST(RunProgramTest, GivesTheOutputAsItComes) {
  ProgramSpec spec = shell("echo out; read word; echo $word >&2");
  spec.input = "in\n";
  std::string told[2];
  spec.on_output = [&](int stream, std::string_view bytes) { told[stream - 1] += bytes; };
  Result<ProgramOutput> output = run_program(spec);
  ASSERT_TRUE(output.ok()) << output.error().text();
  EXPECT_EQ(told[0], "out\n");
  EXPECT_EQ(told[1], "in\n");
  EXPECT_EQ(output->out + output->err, "");
}

TEST(RunProgramTest, TellsTheSignalThatEndedIt) {
  EXPECT_EQ(run_program(shell("kill -9 $$"))->exit_code, 128 + SIGKILL);
}

TEST(RunProgramTest, SaysWhatCannotBeStarted) {
  ProgramSpec spec;
  spec.argv = {"no-such-program"};
  EXPECT_EQ(run_program(spec).error().code, Code::kNotFound);
}

TEST(RunProgramTest, EndsItAtTheDeadline) {
  ProgramSpec spec = shell("sleep 1000");
  spec.deadline = Millis{10};
  EXPECT_EQ(run_program(spec).error().code, Code::kTimeout);
}

TEST(RunProgramTest, TicksWhileItRunsAndEndsItWhenToldTo) {
  ProgramSpec spec = shell("sleep 1000");
  int ticks = 0;
  spec.on_tick = [&ticks] { return ++ticks < 3; };
  EXPECT_EQ(run_program(spec).error().message, "sh was stopped");
  EXPECT_EQ(ticks, 3);
}

}  // namespace
}  // namespace tessera
