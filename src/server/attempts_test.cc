#include "server/attempts.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::server {
namespace {

TEST(Attempts, CountsPerKeyAndForgetsAfterTheWindow) {
  Attempts attempts;
  EXPECT_EQ(attempts.add("a", Instant{1000}), 1);
  EXPECT_EQ(attempts.add("a", Instant{2000}), 2);
  EXPECT_EQ(attempts.add("b", Instant{2000}), 1);
  EXPECT_EQ(attempts.left("a", Instant{2000}), Millis{59'000});
  EXPECT_EQ(attempts.add("a", Instant{61'000}), 1);
}

TEST(Attempts, KeepsNoMoreKeysThanItsLimitAndDropsTheOldest) {
  Attempts attempts;
  for (size_t i = 0; i < kAttemptKeys; ++i)
    attempts.add(cat("k", i), Instant{static_cast<int64_t>(i)});
  attempts.add("one more", Instant{5000});
  EXPECT_EQ(attempts.size(), kAttemptKeys);
  EXPECT_EQ(attempts.left("k0", Instant{5000}), Millis{0});
  EXPECT_EQ(attempts.add("k1", Instant{5000}), 2);
}

}  // namespace
}  // namespace tessera::server
