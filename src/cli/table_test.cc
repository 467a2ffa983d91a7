#include "cli/table.h"

#include <gtest/gtest.h>

#include "api/envelope.h"
#include "cli/job_exit.h"
#include "cli/job_table.h"

namespace tessera::cli {
namespace {

constexpr Instant kNow{1'000'000'000'000};
constexpr Millis kMinute{60'000};

Instant ago(int64_t seconds) {
  return {kNow.ms - seconds * 1000};
}

std::vector<api::Job> jobs() {
  api::Job train{
      .metadata = {.name = "train",
                   .project = "vision",
                   .uid = "1",
                   .annotations = {{std::string(api::kUserAnnotation), "ana"}},
                   .creationTimestamp = ago(7300)},
      .spec = {.image = "pytorch:2.4", .args = {"python", "train.py", "--epochs", "90"}}};
  train.spec.resources.gpus = MilliGpu{2000};
  train.spec.replicas = 2;
  train.status = {.phase = api::Phase::kRunning,
                  .number = 12,
                  .node = "n1",
                  .health = api::ContainerHealth::kHealthy,
                  .ports = {{.port = 80, .hostPort = 8080, .hostAddress = "0.0.0.0"}},
                  .startTime = ago(3723)};
  api::Job low{.metadata = {.name = "low", .project = "default", .creationTimestamp = ago(50)},
               .spec = {.image = "busybox"}};
  low.spec.resources.gpus = MilliGpu{250};
  low.status.waiting = api::Waiting{.message = "no GPU is free"};
  api::Job high = low;
  high.metadata.name = "high";
  high.spec.priority = 5;
  high.spec.resources = {.gpus = MilliGpu{1000}, .gpuMemory = MiB{10240}};
  api::Job done{.metadata = {.name = "done", .project = "default", .creationTimestamp = ago(100)},
                .spec = {.image = "busybox", .command = {"sh"}}};
  done.status = {.phase = api::Phase::kFailed,
                 .reason = api::Reason::kOomKilled,
                 .exitCode = 137,
                 .node = "n1",
                 .startTime = ago(90),
                 .endTime = ago(60)};
  return {done, low, high, train};
}

TEST(Tables, PsAsDockerPrintsIt) {
  EXPECT_EQ(ps_table(jobs(), kNow, false).text(),
            "NAME    IMAGE         COMMAND                  CREATED              STATUS         "
            "                   PORTS                         GPUS     NODE\n"
            "done    busybox       \"sh\"                     About a minute ago   Exited (137) Ab"
            "out a minute ago   -                             -        n1\n"
            "low     busybox       -                        50 seconds ago       Queued 50 secon"
            "ds                 -                             0.25     -\n"
            "high    busybox       -                        50 seconds ago       Queued 50 secon"
            "ds                 -                             1x10Gi   -\n"
            "train   pytorch:2.4   \"python train.py --e…\"   2 hours ago          Up About an hou"
            "r (healthy)        0.0.0.0:8080->80/tcp (open)   4        n1\n");
}

TEST(Tables, QueueAsSqueuePrintsIt) {
  NodesOfGangs nodes = {{"1", {"n1", "n2"}}};
  EXPECT_EQ(queue_table(jobs(), nodes, kNow).text(),
            "JOBID   PARTITION   NAME    USER   ST    TIME      NODES   GPUS     NODELIST(REASON)\n"
            "12      vision      train   ana    R     1:02:03   2       4        n1,n2\n"
            "0       default     high    -      PD    0:00      1       1x10Gi   (no GPU is free)\n"
            "0       default     low     -      PD    0:00      1       0.25     (no GPU is free)\n"
            "0       default     done    -      OOM   0:30      1       -        n1\n");
}

TEST(Tables, AnArrayIsOneRow) {
  api::Job sweep{.metadata = {.name = "sweep", .project = "default", .creationTimestamp = ago(60)},
                 .spec = {.image = "busybox"}};
  sweep.spec.array = api::JobArray{.indices = "0-9", .parallel = 2};
  sweep.status = {.phase = api::Phase::kRunning,
                  .array = api::ArrayStatus{.queued = 5, .running = 2, .succeeded = 2, .failed = 1},
                  .number = 7,
                  .node = "n1",
                  .startTime = ago(30)};
  std::string queue = queue_table({sweep}, {}, kNow).text(false);
  EXPECT_EQ(queue, "7   default   sweep[0-9%2]   -   R   0:30   1   -   n1\n");
  std::string ps = ps_table({sweep}, kNow, false).text(false);
  EXPECT_NE(ps.find("Up 30 seconds (3 of 10 over)"), std::string::npos) << ps;
}

TEST(Tables, CellsOfATableAreAligned) {
  Table table{.headers = {"NAME", "N"}, .rows = {{"é", "1"}, {"longer", ""}}};
  EXPECT_EQ(table.text(), "NAME     N\né        1\nlonger\n");
  std::vector<size_t> widths;
  EXPECT_EQ(table.text(false, &widths), "é        1\nlonger\n");
  Table later{.headers = {"NAME", "N"}, .rows = {{"a", "2"}}};
  EXPECT_EQ(later.text(false, &widths), "a        2\n");
}

TEST(Tables, SpansAndSizes) {
  EXPECT_EQ(short_age({-5}), "0s");
  EXPECT_EQ(short_age({119'000}), "119s");
  EXPECT_EQ(short_age(kMinute * 2), "2m");
  EXPECT_EQ(short_age(kMinute * 60 * 47), "47h");
  EXPECT_EQ(short_age(kMinute * 60 * 48), "2d");
  EXPECT_EQ(long_age({500}), "Less than a second");
  EXPECT_EQ(long_age({1000}), "1 second");
  EXPECT_EQ(long_age(kMinute), "About a minute");
  EXPECT_EQ(long_age(kMinute * 60), "About an hour");
  EXPECT_EQ(long_age(kMinute * 60 * 24 * 30), "4 weeks");
  EXPECT_EQ(clock_time({0}), "0:00");
  EXPECT_EQ(clock_time({65'000}), "1:05");
  EXPECT_EQ(clock_time({3'723'000}), "1:02:03");
  EXPECT_EQ(clock_time({93'784'000}), "1-02:03:04");
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("éééé", 3), "éé…");
}

api::Job ended(api::Phase phase, api::Reason reason, std::optional<int64_t> code,
               std::string message = {}) {
  api::Job job{.metadata = {.name = "a"}, .spec = {.image = "x"}};
  job.status = {.phase = phase, .reason = reason, .message = std::move(message), .exitCode = code};
  return job;
}

TEST(ExitCodes, AreTheProgramsOwnOrDockers) {
  using api::Phase, api::Reason;
  struct Case {
    api::Job job;
    int code;
    std::string_view sentence;
  };
  const Case kCases[] = {
      {ended(Phase::kSucceeded, Reason::kCompleted, 0), 0, ""},
      {ended(Phase::kFailed, Reason::kExitCode, 3, "exit code 3"), 3, ""},
      {ended(Phase::kFailed, Reason::kOomKilled, 137, "out of memory"), 137,
       "job a failed: OOMKilled: out of memory"},
      {ended(Phase::kFailed, Reason::kImagePull, {}, "no such image"), 125,
       "job a failed: ImagePull: no such image"},
      {ended(Phase::kFailed, Reason::kStartFailed, {}, "exec: \"foo\": executable file not found"),
       127, "job a failed: StartFailed: exec: \"foo\": executable file not found"},
      {ended(Phase::kFailed, Reason::kStartFailed, {}, "exec: \"/etc\": permission denied"), 126,
       "job a failed: StartFailed: exec: \"/etc\": permission denied"},
      {ended(Phase::kFailed, Reason::kStartFailed, {}, "no space left on device"), 125,
       "job a failed: StartFailed: no space left on device"},
      {ended(Phase::kFailed, Reason::kMaxRuntime, 0, "ran for 1h"), 1,
       "job a failed: MaxRuntime: ran for 1h"},
      {ended(Phase::kFailed, Reason::kLost, {}, "gone"), 125, "job a failed: Lost: gone"},
      {ended(Phase::kCancelled, Reason::kCancelled, 130, "stopped on request"), 130,
       "job a was cancelled: stopped on request"},
      {ended(Phase::kCancelled, Reason::kCancelled, {}), 143, "job a was cancelled"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(exit_code_of(c.job), c.code) << c.sentence;
    EXPECT_EQ(ending_of(c.job), c.sentence);
  }
}

}  // namespace
}  // namespace tessera::cli
