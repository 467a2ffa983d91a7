#include "core/usage.h"

#include <gtest/gtest.h>

#include <functional>

#include "api/envelope.h"
#include "base/text.h"
#include "core/invariants.h"
#include "core/testing/cluster.h"

namespace tessera::core::testing {
namespace {

constexpr Millis kSecond{1000}, kDay{86'400'000};

class UsageTest : public ::testing::Test {
 protected:
  void SetUp() override { c.add_node("n", 4); }
  void TearDown() override { EXPECT_EQ(check_invariants(c.state), std::vector<std::string>{}); }

  static api::Job job(const std::string& name, const std::string& user = "ana",
                      std::optional<int64_t> milli_gpus = 1000) {
    api::Job out = Cluster::job(name, milli_gpus);  // 0.1 CPU, 64 MiB
    out.metadata.annotations[std::string(api::kUserAnnotation)] = user;
    return out;
  }
  void start(const api::Job& wanted) {
    ASSERT_EQ(c.submit(wanted), "");
    c.plan();
    for (int64_t i = 0; i < wanted.spec.replicas; ++i) c.started(wanted.metadata.name, i);
  }
  UsageSums sums() const {
    UsageSums out = c.state.changes.usage;
    for (const auto& [key, usage] : c.state.meters.running(c.now)) out[key] += usage;
    return out;
  }
  // A line for each row: accelerator-seconds in thousandths, core-seconds in thousandths,
  // MiB-seconds, jobs that ended and those that failed.
  std::string used() const {
    std::string out;
    for (const auto& [key, usage] : sums())
      out += cat(format_day(key.day), " ", key.account.project, "/", key.account.user, ": ",
                 usage.accelerators / 1000, " ", usage.cpus / 1000, " ", usage.memory / 1000, ", ",
                 usage.jobs, " ", usage.failed, "\n");
    return out;
  }
  Cluster c;
};

struct Case {
  std::string_view name;
  std::function<api::Job(api::Job job)> with;  // what is special about the job
  std::function<void(Cluster& c)> then;        // after it was placed; it is called "a"
  std::string_view used;                       // of default/ana on the first day
};

const Case kCases[] = {
    {"from its placement, with the time that its start takes",
     {},
     [](Cluster& c) {
       c.advance(kSecond * 2);
       c.started("a");
       c.advance(kSecond * 8);
       c.exited("a", 0);
       c.advance(kSecond * 100);
     },
     "10000 1000 640, 1 0"},
    {"while it runs",
     {},
     [](Cluster& c) {
       c.started("a");
       c.advance(kSecond * 3);
     },
     "3000 300 192, 0 0"},
    {"until its container is gone, not only until a stop was asked for",
     {},
     [](Cluster& c) {
       c.started("a");
       c.advance(kSecond);
       c.run(StopJob{"default", "a", {}, {}});
       c.advance(kSecond * 4);
       c.exited("a", 137);
     },
     "5000 500 320, 1 0"},
    {"each attempt, but not the back-off between them; the job is one",
     [](api::Job job) {
       job.spec.retries = 1;
       job.spec.backoff = kSecond * 50;
       return job;
     },
     [](Cluster& c) {
       c.started("a");
       c.advance(kSecond * 2);
       c.exited("a", 1);
       c.advance(kSecond * 50);
       c.plan();
       c.started("a");
       c.advance(kSecond * 3);
       c.exited("a", 1);
     },
     "5000 500 320, 1 1"},
    {"a requeue after its container was lost",
     [](api::Job job) {
       job.spec.requeue = true;
       job.spec.backoff = kSecond * 9;
       return job;
     },
     [](Cluster& c) {
       c.started("a");
       c.advance(kSecond * 2);
       c.run(TaskExited{.task = "a-0", .attempt = 1, .lost = true, .message = "gone"});
       c.advance(kSecond * 9);
       c.plan();
       c.advance(kSecond);
     },
     "3000 300 192, 0 0"},
    {"every member of a gang, each until its own end",
     [](api::Job job) {
       job.spec.replicas = 2;
       return job;
     },
     [](Cluster& c) {
       c.started("a", 0);
       c.started("a", 1);
       c.advance(kSecond * 2);
       c.exited("a", 0, 0);
       c.advance(kSecond * 3);
       c.exited("a", 0, 1);
     },
     "7000 700 448, 1 0"},
    {"a part of one",
     [](api::Job job) {
       job.spec.resources.gpus = MilliGpu{125};
       return job;
     },
     [](Cluster& c) { c.advance(kSecond * 4); }, "500 400 256, 0 0"},
    {"a slice by its memory: as much of the compute as of the memory",
     [](api::Job job) {
       job.spec.resources.gpus = {};
       job.spec.resources.gpuMemory = MiB{40960};
       return job;
     },
     [](Cluster& c) { c.advance(kSecond * 4); }, "2000 400 256, 0 0"},
    {"no accelerator at all",
     [](api::Job job) {
       job.spec.resources.gpus = {};
       return job;
     },
     [](Cluster& c) { c.advance(kSecond * 4); }, "0 400 256, 0 0"},
    {"what was held while its image was not found",
     {},
     [](Cluster& c) {
       c.advance(kSecond * 4);
       c.start_failed("a", api::Reason::kImagePull, "no such image");
     },
     "4000 400 256, 1 1"},
    {"also when it is deleted",
     {},
     [](Cluster& c) {
       c.started("a");
       c.advance(kSecond);
       c.run(DeleteJob{"default", "a"});
       c.exited("a", 137);
       ASSERT_FALSE(c.has("a"));
     },
     "1000 100 64, 1 0"},
};

TEST_F(UsageTest, WhatIsHeldCounts) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    c = Cluster();
    c.add_node("n", 4);
    ASSERT_EQ(c.submit(one.with ? one.with(job("a")) : job("a")), "");
    c.plan();
    one.then(c);
    EXPECT_EQ(used(), cat("1970-01-01 default/ana: ", one.used, "\n"));
  }
}

TEST_F(UsageTest, AJobThatNeverRanUsedNothing) {
  ASSERT_EQ(c.submit(job("a")), "");
  c.advance(kSecond);
  c.run(StopJob{"default", "a", {}, {}});
  EXPECT_EQ(used(), "1970-01-01 default/ana: 0 0 0, 1 0\n");
}

TEST_F(UsageTest, EachProjectAndUserOnTheirOwn) {
  c.add_project("other");
  start(job("a"));
  start(job("b", "wei"));
  start(job("nobody", ""));
  api::Job elsewhere = job("d");
  elsewhere.metadata.project = "other";
  ASSERT_EQ(c.submit(elsewhere), "");
  c.plan();
  c.advance(kSecond);
  EXPECT_EQ(used(),
            "1970-01-01 default/: 1000 100 64, 0 0\n"
            "1970-01-01 default/ana: 1000 100 64, 0 0\n"
            "1970-01-01 default/wei: 1000 100 64, 0 0\n"
            "1970-01-01 other/ana: 1000 100 64, 0 0\n");
}

TEST_F(UsageTest, EachDayHasItsPart) {
  c.now = Instant{kDay.value - 2000};
  start(job("a"));
  c.advance(kSecond * 2);  // midnight
  c.advance(kDay);
  c.advance(kSecond * 5);
  c.exited("a", 0);
  EXPECT_EQ(used(),
            "1970-01-01 default/ana: 2000 200 128, 0 0\n"
            "1970-01-02 default/ana: 86400000 8640000 5529600, 0 0\n"
            "1970-01-03 default/ana: 5000 500 320, 1 0\n");
}

TEST_F(UsageTest, ARestartLosesNothing) {
  start(job("a"));
  c.advance(kSecond * 2);
  start(job("b"));  // here a's first two seconds were settled
  UsageSums stored = std::move(c.state.changes.usage);
  Instant until = stored.begin()->second.until;
  c.advance(kSecond * 3);  // and what ran up here is with no one when the server dies
  rebuild(c.state);
  c.state.meters.resume({"default", "ana"}, until);
  c.state.meters.begin(c.now, c.state.changes.usage);
  EXPECT_TRUE(c.state.changes.usage.empty());
  c.advance(kSecond * 5);
  c.exited("a", 0);
  c.state.changes.usage.begin()->second += stored.begin()->second;
  EXPECT_EQ(used(), "1970-01-01 default/ana: 18000 1800 1152, 1 0\n");
}

// What was placed by a version that kept no ledger counts from the upgrade on.
TEST_F(UsageTest, AnAccountThatTheStoreDoesNotKnowBeginsNow) {
  start(job("a"));
  c.advance(kSecond * 2);
  rebuild(c.state);
  c.state.meters.begin(c.now, c.state.changes.usage);
  EXPECT_EQ(used(), "1970-01-01 default/ana: 0 0 0, 0 0\n") << "the store knows it from now on";
  c.advance(kSecond);
  EXPECT_EQ(used(), "1970-01-01 default/ana: 1000 100 64, 0 0\n");
}

TEST_F(UsageTest, AClockThatIsSetBackCountsNoTimeTwice) {
  start(job("a"));
  c.advance(kSecond * 10);
  start(job("b"));
  c.now = c.now + kSecond * -4;
  c.exited("b", 0);
  c.advance(kSecond * 5);  // one second after it was set back
  c.exited("a", 0);
  EXPECT_EQ(used(), "1970-01-01 default/ana: 11000 1100 704, 2 0\n");
}

TEST(Day, IsReadAndPrinted) {
  EXPECT_EQ(format_day(0), "1970-01-01");
  EXPECT_EQ(format_day(day_of(Instant{-1})), "1969-12-31");
  EXPECT_EQ(parse_day("2026-02-28").value() + 1, parse_day("2026-03-01").value());
  for (std::string_view bad : {"", "2026-02-30", "2026-2-3T", "today", "2026-01-01T00:00:00Z"})
    EXPECT_FALSE(parse_day(bad).ok()) << bad;
}

}  // namespace
}  // namespace tessera::core::testing
