#include "core/sched/durations/hazard.h"

#include <gtest/gtest.h>

namespace tessera::sched {
namespace {

constexpr int64_t kMinute = 60'000, kHour = 60 * kMinute;

TEST(Durations, BinsGrowByAQuarter) {
  EXPECT_EQ(bin_of(0), 0u);
  EXPECT_EQ(bin_of(19'999), 0u);
  EXPECT_EQ(bin_of(20'000), 1u);
  EXPECT_EQ(bin_of(25'000), 2u);
  EXPECT_EQ(start_of_bin(3), 31'250);
  for (size_t bin = 0; bin < 60; ++bin) {
    EXPECT_EQ(bin_of(start_of_bin(bin)), bin);
    EXPECT_EQ(bin_of(start_of_bin(bin + 1) - 1), bin);
  }
  EXPECT_EQ(bin_of(int64_t{1} << 50), bin_of(int64_t{1} << 49));  // the last has no end
}

void run(Durations& durations, const Durations::Pools& pools, int64_t time) {
  durations.ended(pools, durations.reached(pools, 0, time));
}

TEST(Durations, ThePoolWhoseJobsAreShorterComesFirst) {
  Durations durations;
  size_t all = durations.pool("all");
  Durations::Pools shorter{all, durations.pool("short")}, longer{all, durations.pool("long")};
  for (int i = 0; i < 20; ++i) {
    run(durations, shorter, kMinute);
    run(durations, longer, 10 * kHour);
  }
  EXPECT_GT(durations.gittins(shorter, 0), durations.gittins(longer, 0));
  // Of a pool that nobody knows what is known of all counts.
  EXPECT_EQ(durations.gittins({all}, kMinute),
            durations.gittins({all, durations.pool("new")}, kMinute));
}

TEST(Durations, WhoIsAboutToEndComesBeforeWhoHasJustBegun) {
  Durations durations;
  Durations::Pools pools{durations.pool("all")};
  for (int i = 0; i < 1000; ++i) run(durations, pools, 10 * kHour);
  EXPECT_GT(durations.gittins(pools, 9 * kHour), durations.gittins(pools, 0));
}

TEST(Durations, JobsThatStillRunCountForWhatTheySurvived) {
  Durations durations;
  Durations::Pools pools{durations.pool("all")};
  Log before = durations.gittins(pools, 0);
  size_t bin = 0;
  for (int64_t progress = 0; progress < 10 * kHour; progress += kMinute)
    bin = durations.reached(pools, bin, progress);
  EXPECT_LT(durations.gittins(pools, 0), before);
  EXPECT_EQ(durations.reached(pools, bin, 0), bin);  // progress that was lost is not counted twice
}

}  // namespace
}  // namespace tessera::sched
