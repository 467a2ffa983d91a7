#include "engine/local/images/skopeo.h"

#include <gtest/gtest.h>

namespace tessera::local {
namespace {

TEST(SkopeoTest, FindsWhatFailedInTheLog) {
  EXPECT_EQ(
      skopeo_message("time=\"2026-01-31T12:00:00Z\" level=warning msg=\"slow\"\n"
                     "time=\"2026-01-31T12:00:01Z\" level=fatal msg=\"no \\\"x\\\" there\"\n"),
      "no \"x\" there");
  EXPECT_EQ(skopeo_message("first\nrunc: killed\n"), "runc: killed");
  EXPECT_EQ(skopeo_message(""), "");
}

}  // namespace
}  // namespace tessera::local
