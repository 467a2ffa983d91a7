#include "engine/local/ready_networks.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

class ReadyNetworksTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "tessera-ready-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(make_directories(std::filesystem::path(folder_ + path).parent_path()).ok());
    ASSERT_TRUE(write_file(folder_ + path, text).ok());
  }

  std::string folder_;
  ReadyNetworks::Make none_ = [](const std::string&, const std::string&) -> Result<std::string> {
    return error(Code::kUnavailable, "not in this test");
  };
};

TEST_F(ReadyNetworksTest, WhatTheLastEngineHadReadyIsTakenOnce) {
  put("/ready/vision/ready-1", "ready-1 10.1.0.2\n");
  ReadyNetworks networks(folder_, none_);
  ASSERT_TRUE(networks.start({}).ok());
  EXPECT_FALSE(networks.take("other", "a"));
  EXPECT_TRUE(networks.take("vision", "a"));
  EXPECT_FALSE(networks.take("vision", "b"));
  EXPECT_EQ(networks.name_of("a"), "ready-1");
  EXPECT_EQ(networks.address_of("a"), "10.1.0.2");
  EXPECT_EQ(networks.name_of("b"), "b");
}

// A storm of kills met one that was made and not yet written: its container got the folder of all
// namespaces in place of a namespace.
TEST_F(ReadyNetworksTest, WhatACrashLeftHalfWrittenIsNeverTaken) {
  put("/ready/vision/ready-1", "");
  put("/ready/vision/ready-2", "ready-2");
  put("/ready/vision/ready-3.tmp.77", "ready-3 10.1.0.4\n");
  ReadyNetworks networks(folder_, none_);
  ASSERT_TRUE(networks.start({}).ok());
  EXPECT_TRUE(networks.names("vision").empty());
  EXPECT_FALSE(networks.take("vision", "a"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/ready/vision"));
}

TEST_F(ReadyNetworksTest, WhatTheDeadHaveTakenIsForgotten) {
  put("/used/dead", "ready-1 10.1.0.2\n");
  put("/used/alive", "ready-2 10.1.0.3\n");
  ReadyNetworks networks(folder_, none_);
  ASSERT_TRUE(networks.start({"alive"}).ok());
  EXPECT_EQ(networks.address_of("dead"), std::nullopt);
  EXPECT_EQ(networks.address_of("alive"), "10.1.0.3");
}

}  // namespace

}  // namespace tessera::local
