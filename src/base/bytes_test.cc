#include "base/bytes.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Bytes, AreToldAsDockerTellsThem) {
  EXPECT_EQ(byte_size(0), "0B");
  EXPECT_EQ(byte_size(999), "999B");
  EXPECT_EQ(byte_size(1234), "1.2kB");
  EXPECT_EQ(byte_size(2'000'000), "2MB");
  EXPECT_EQ(byte_size(16'800'000'000), "16.8GB");
}

}  // namespace
}  // namespace tessera
