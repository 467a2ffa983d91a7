#include "api/batch.h"

#include <gtest/gtest.h>

#include <functional>

#include "api/validate.h"
#include "base/text.h"

namespace tessera::api {
namespace {

std::string indices(std::string_view text) {
  auto parsed = parse_indices(text);
  if (!parsed.ok()) return parsed.error().text();
  std::string out;
  for (int64_t index : *parsed) out += cat(out.empty() ? "" : " ", index);
  return out;
}

TEST(Batch, IndicesAreNumbersAndRanges) {
  EXPECT_EQ(indices("7"), "7");
  EXPECT_EQ(indices("0-3"), "0 1 2 3");
  EXPECT_EQ(indices("0-15:4,20, 4"), "0 4 8 12 20");
  EXPECT_EQ(indices("5-5"), "5");
  EXPECT_EQ(indices("0-999").size(), 10u * 1 + 90 * 2 + 900 * 3 + 999);
}

TEST(Batch, MistakesInIndicesAreOneSentence) {
  const std::string kHint = " (write numbers and ranges like 1,3,10-20 or 0-15:4)";
  const std::pair<const char*, const char*> kCases[] = {
      {"", "'' is neither a number nor a range of them"},
      {"1,,2", "'' is neither a number nor a range of them"},
      {"a", "'a' is neither a number nor a range of them"},
      {"-1", "'-1' is neither a number nor a range of them"},
      {"+1", "'+1' is neither a number nor a range of them"},
      {"1-", "'1-' is neither a number nor a range of them"},
      {"3-1", "'3-1' ends before it begins"},
      {"0-8:0", "'0-8:0' has a step of 0"},
      {"4:2", "'4:2' has a step but is no range"},
      {"1:2-3", "'1:2-3' is neither a number nor a range of them"},
      {"9999999", "'9999999' goes beyond the largest index, 4000000"},
      {"0-1000", "'0-1000' is 1001 tasks; at most 1000 are allowed"},
      {"0-999,2000", "'0-999,2000' is more than the 1000 tasks that are allowed"}};
  for (const auto& [text, message] : kCases) EXPECT_EQ(indices(text), message + kHint);
}

TEST(Batch, HostNamesAreValid) {
  EXPECT_EQ(make_host_name("train", 3), "train-3");
  EXPECT_EQ(make_host_name("My_Job.v2", 0), "my-job-v2-0");
  EXPECT_EQ(make_host_name("---", 1), "task-1");
  EXPECT_EQ(make_host_name(std::string(100, 'x'), 12).size(), 63u);
}

TEST(Batch, WhatDoesNotGoTogetherIsRefusedByField) {
  struct Case {
    std::function<void(JobSpec&)> change;
    const char* message;
  };
  const Case kCases[] = {
      {[](JobSpec& spec) { spec.array = JobArray{.indices = "x", .parallel = {}}; },
       "spec.array.indices: 'x' is neither a number nor a range of them (write numbers and ranges "
       "like 1,3,10-20 or 0-15:4)"},
      {[](JobSpec& spec) {
         spec.array = JobArray{.indices = "0-3", .parallel = {}};
         spec.replicas = 2;
       },
       "spec.array: is an array, and each of its tasks is one container (leave out spec.replicas, "
       "or submit several gangs)"},
      {[](JobSpec& spec) {
         spec.array = JobArray{.indices = "0-3", .parallel = {}};
         spec.rendezvous = Rendezvous{};
       },
       "spec.rendezvous: is for the replicas of a gang, and an array's tasks are none (leave it "
       "out)"},
      {[](JobSpec& spec) {
         spec.array = JobArray{.indices = "0-3", .parallel = {}};
         spec.tty = true;
       },
       "spec.array: an array cannot share one terminal or standard input"},
      {[](JobSpec& spec) { spec.endWarning = EndWarning{.signal = "SIGUSR1"}; },
       "spec.endWarning: warns before the maximum runtime ends, and there is none (give "
       "spec.maxRuntime)"},
      {[](JobSpec& spec) {
         spec.endWarning = EndWarning{.signal = "SIGNOTHING"};
         spec.maxRuntime = Millis{60'000};
       },
       "spec.endWarning.signal: 'SIGNOTHING' is not a signal (for example SIGTERM, SIGINT or "
       "SIGUSR1)"},
      {[](JobSpec& spec) { spec.rendezvous = Rendezvous{.processes = 2}; },
       "spec.rendezvous.processes: is for ranks: Node; with ranks: Process each replica is one "
       "(leave it out, or say ranks: Node)"}};
  for (const Case& row : kCases) {
    Job job{.spec = {.image = "busybox"}};
    row.change(job.spec);
    Status status = validate(job);
    EXPECT_EQ(status.ok() ? "" : status.error().text(), row.message);
  }
}

TEST(Batch, GeneratedNamesBeginLikeNames) {
  for (const char* good : {"train-", "a", "x-1-"}) {
    Job job{.spec = {.image = "busybox"}};
    job.metadata.generateName = good;
    EXPECT_TRUE(validate(job).ok()) << good;
  }
  for (const char* bad : {"-train", "Train", "a_b", "a b"}) {
    Job job{.spec = {.image = "busybox"}};
    job.metadata.generateName = bad;
    EXPECT_FALSE(validate(job).ok()) << bad;
  }
  Project project;
  project.metadata.name = "vision";
  project.metadata.generateName = "vision-";
  EXPECT_FALSE(validate(project).ok());
}

}  // namespace
}  // namespace tessera::api
