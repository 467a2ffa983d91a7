#include "core/sched/order/order.h"

#include <gtest/gtest.h>

#include "core/sched/order/grouping.h"

namespace tessera::sched {
namespace {

TEST(Logarithm, RoundsToTheUnit) {
  struct Case {
    int64_t value, q16;
  };
  for (auto [value, q16] : {Case{-5, 0}, Case{0, 0}, Case{1, 0}, Case{2, 65536}, Case{3, 103872},
                            Case{1000, 653117}, Case{int64_t{1} << 40, 40 * 65536}})
    EXPECT_NEAR(log_of(value).q16, q16, 1) << value;
  EXPECT_EQ(exp_of(Log{-1}), 1);
  EXPECT_EQ(exp_of(Log{int64_t{99} << 16}), int64_t{1} << 62);
  for (int64_t value = 1; value < int64_t{1} << 60; value = value * 3 / 2 + 1)
    EXPECT_NEAR(exp_of(log_of(value)), value, 1 + value / 20'000) << value;
  EXPECT_EQ(exp_of(log_of(81).power(500)), 8);  // just below 9, cut
}

TEST(Order, WhoDoesNotFitIsPassedBy) {
  std::vector<Contender> jobs = {{.devices = 3}, {.devices = 4}, {.devices = 1}, {.devices = 1}};
  EXPECT_EQ(admitted(jobs, {0, 1, 2, 3}, 4), (JobOrder{0, 2}));
  EXPECT_EQ(admitted(jobs, {1, 0, 2, 3}, 4), (JobOrder{1}));
  EXPECT_EQ(admitted(jobs, {0, 1, 2, 3}, 0), JobOrder{});
}

TEST(Order, OfEqualJobsTheRunningOneStays) {
  std::vector<Contender> jobs = {{.devices = 1}, {.devices = 1, .running = true}};
  std::vector<Log> keys(2);
  EXPECT_EQ(ranked(jobs, keys), (JobOrder{1, 0}));
}

TEST(Order, TheSumOfCompletionTimes) {
  std::vector<Contender> jobs = {{2, 10}, {1, 4}, {1, 6}};
  EXPECT_EQ(completion_sum(jobs, {0, 1, 2}, 2), 10 + 14 + 16);
  EXPECT_EQ(completion_sum(jobs, {1, 2, 0}, 2), 4 + 6 + 16);
  EXPECT_EQ(completion_sum(jobs, {1, 0, 2}, 2), 4 + 16 + 14);  // 2 is passed and starts at once
}

// Shortest time first would let the large job go first, shortest service the small ones.
TEST(Order, TheExponentIsChosenByItsOutcome) {
  std::vector<Contender> many = {{4, 10}, {1, 12}, {1, 12}, {1, 12}, {1, 12}};
  EXPECT_EQ(by_remaining(many, 4).front(), 1u);
  std::vector<Contender> one = {{4, 10}, {1, 12}};
  EXPECT_EQ(by_remaining(one, 4).front(), 0u);
}

TEST(Order, TheIndexCountsForEachDeviceAndMoreForWhoRuns) {
  std::vector<Contender> jobs = {{.devices = 4}, {.devices = 1}, {.devices = 2, .running = true}};
  std::vector<Log> equal(3);
  EXPECT_EQ(by_index(jobs, equal, Log{}), (JobOrder{1, 2, 0}));
  EXPECT_EQ(by_index(jobs, equal, kLogOf2), (JobOrder{2, 1, 0}));
}

std::vector<int64_t> halves(int64_t, const std::vector<size_t>& kinds) {
  return std::vector<int64_t>(kinds.size(), kFullSpeed / static_cast<int64_t>(kinds.size()));
}
std::vector<int64_t> no_loss(int64_t, const std::vector<size_t>& kinds) {
  return std::vector<int64_t>(kinds.size(), kFullSpeed);
}

TEST(Grouping, WhoFitsAloneRunsAlone) {
  std::vector<Sharer> jobs = {{2, 0, {}}, {2, 0, {}}};
  EXPECT_EQ(grouped(jobs, 4, no_loss), (std::vector<std::vector<size_t>>{{0}, {1}}));
}

TEST(Grouping, TurnsAreTakenWhereThatGains) {
  std::vector<Sharer> jobs(5, Sharer{2, 0, {}});
  auto shared = grouped(jobs, 4, no_loss);
  size_t served = 0;
  for (const auto& group : shared) served += group.size();
  EXPECT_EQ(shared.size(), 2u);
  EXPECT_EQ(served, 5u);
  // Taking turns at a half of the speed gains nothing.
  auto alone = grouped(jobs, 4, halves);
  for (const auto& group : alone) EXPECT_EQ(group.size(), 1u);
  EXPECT_EQ(alone.size(), 2u);
}

TEST(Grouping, OfUnequalJobsTheMostValuableForEachDevice) {
  std::vector<Sharer> jobs = {
      {4, 0, log_of(16)}, {1, 0, log_of(8)}, {1, 0, log_of(8)}, {1, 0, log_of(1)}};
  auto groups = grouped(jobs, 4, halves);
  EXPECT_EQ(groups, (std::vector<std::vector<size_t>>{{1}, {2}, {3}}));
}

}  // namespace
}  // namespace tessera::sched
