#include "engine/local/introductions.h"

#include <gtest/gtest.h>

namespace tessera::local {
namespace {

TEST(Introductions, AHostHasOneAddress) {
  std::string hosts = "127.0.0.1\tlocalhost\n";
  hosts = with_host(hosts, "10.137.3.2", "train-0");
  hosts = with_host(hosts, "10.137.3.3", "train-10");
  EXPECT_EQ(with_host(hosts, "10.137.3.9", "train-0"),
            "127.0.0.1\tlocalhost\n10.137.3.3\ttrain-10\n10.137.3.9\ttrain-0\n");
}

}  // namespace
}  // namespace tessera::local
