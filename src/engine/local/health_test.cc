#include "engine/local/health.h"

#include <gtest/gtest.h>

namespace tessera::local {

namespace {

using Health = api::ContainerHealth;

TEST(HealthCheck, TheJobsWordsStandOverTheImages) {
  api::HealthCheck image{.command = {"image"}, .interval = Millis{1}, .retries = 5};
  EXPECT_FALSE(effective_check({}, {}));
  EXPECT_EQ(effective_check({}, image), image);
  api::HealthCheck faster{.interval = Millis{2}};
  auto both = effective_check(faster, image);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->command, image.command);
  EXPECT_EQ(both->interval, Millis{2});
  EXPECT_EQ(both->retries, 5);
  EXPECT_FALSE(effective_check(faster, {})) << "nothing to run";
  EXPECT_FALSE(effective_check(api::HealthCheck{.disabled = true}, image));
  api::HealthCheck none{.disabled = true};  // the image's HEALTHCHECK NONE
  EXPECT_FALSE(effective_check({}, none));
  EXPECT_TRUE(effective_check(api::HealthCheck{.command = {"job"}}, none));
}

TEST(HealthState, CountsFailuresInARowAfterTheStartPeriod) {
  api::HealthCheck check{.startPeriod = Millis{1000}, .retries = 2};
  HealthState state;
  state.take(check, false, Millis{500});
  EXPECT_EQ(state.failures, 0) << "in the start period";
  state.take(check, false, Millis{1500});
  EXPECT_EQ(state.health, Health::kStarting);
  state.take(check, false, Millis{1600});
  EXPECT_EQ(state.health, Health::kUnhealthy);
  state.take(check, true, Millis{1700});
  EXPECT_EQ(state.health, Health::kHealthy);
  state.take(check, false, Millis{1800});
  state.take(check, true, Millis{1900});
  state.take(check, false, Millis{2000});
  EXPECT_EQ(state.health, Health::kHealthy) << "not in a row";
  state.take(check, false, Millis{2100});
  EXPECT_EQ(state.health, Health::kUnhealthy);
}

TEST(HealthState, ASuccessEndsTheStartPeriod) {
  api::HealthCheck check{.startPeriod = Millis{10'000}, .retries = 1};
  HealthState state;
  state.take(check, true, Millis{100});
  state.take(check, false, Millis{200});
  EXPECT_EQ(state.health, Health::kUnhealthy);
}

TEST(HealthState, LooksOftenerInTheStartPeriod) {
  api::HealthCheck check{.interval = Millis{30'000}, .startPeriod = Millis{10'000}};
  HealthState state;
  EXPECT_EQ(state.wait(check, Millis{0}), Millis{5'000});
  EXPECT_EQ(state.wait(check, Millis{10'000}), Millis{30'000});
  check.startInterval = Millis{100};
  EXPECT_EQ(state.wait(check, Millis{0}), Millis{100});
  check.interval = Millis{50};
  EXPECT_EQ(state.wait(check, Millis{0}), Millis{50});
}

}  // namespace

}  // namespace tessera::local
