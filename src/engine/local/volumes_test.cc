#include "engine/local/volumes.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

namespace fs = std::filesystem;

class Volumes : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounts need root";
    char name[] = "/tmp/tessera-volumes-XXXXXX";
    root_ = ::mkdtemp(name);
    fs::create_directories(root_ + "/allowed/deep");
    fs::create_directories(root_ + "/secret");
    ASSERT_TRUE(write_file(root_ + "/allowed/deep/file", "data").ok());
    ASSERT_TRUE(write_file(root_ + "/secret/file", "secret").ok());
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }
  Result<PinnedVolumes> pin(const std::string& source, bool with_list = true) {
    std::vector<std::string> allowed;
    if (with_list) allowed = {root_ + "/allowed"};
    return pin_volumes({{.source = source, .target = "/t"}}, allowed, root_ + "/pins");
  }
  std::string root_;
};

TEST_F(Volumes, PinsFoldersAndFiles) {
  for (bool with_list : {true, false}) {
    auto folder = pin(root_ + "/allowed/deep", with_list);
    ASSERT_TRUE(folder.ok()) << folder.error().text();
    EXPECT_EQ(*read_file(folder->bound()[0].source + "/file"), "data");
  }
  {
    auto file = pin(root_ + "/allowed/deep/file");
    ASSERT_TRUE(file.ok()) << file.error().text();
    EXPECT_EQ(*read_file(file->bound()[0].source), "data");
  }
  EXPECT_TRUE(fs::is_empty(root_ + "/pins")) << "unmounted";
  EXPECT_EQ(*read_file(root_ + "/allowed/deep/file"), "data") << "and nothing of the user's gone";
}

TEST_F(Volumes, HoldsOnToWhatWasChecked) {
  auto pinned = pin(root_ + "/allowed/deep");
  ASSERT_TRUE(pinned.ok());
  fs::rename(root_ + "/allowed/deep", root_ + "/allowed/moved");
  fs::create_directory_symlink(root_ + "/secret", root_ + "/allowed/deep");
  EXPECT_EQ(*read_file(pinned->bound()[0].source + "/file"), "data");
}

TEST_F(Volumes, LinksMayNotLeadOut) {
  fs::create_directory_symlink(root_ + "/secret", root_ + "/allowed/absolute");
  fs::create_directory_symlink("../secret", root_ + "/allowed/relative");
  fs::create_directory_symlink("deep", root_ + "/allowed/inside");
  for (const char* name : {"/allowed/absolute", "/allowed/relative", "/allowed/relative/file",
                           "/allowed/../secret", "/secret"}) {
    auto refused = pin(root_ + name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, Code::kPermissionDenied) << refused.error().text();
  }
  EXPECT_TRUE(pin(root_ + "/allowed/inside").ok());
  EXPECT_FALSE(pin(root_ + "/allowed/inside", false).ok()) << "no list, no links";
}

TEST_F(Volumes, WhatIsMissingIsNotMade) {
  auto missing = pin(root_ + "/allowed/missing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().text().find("does not exist"), std::string::npos);
  EXPECT_FALSE(fs::exists(root_ + "/allowed/missing"));
}

TEST_F(Volumes, LeftoversGoWithoutTheUsersData) {
  std::string pins = root_ + "/pins";
  fs::create_directories(pins + "/0");
  ASSERT_EQ(::mount((root_ + "/allowed").c_str(), (pins + "/0").c_str(), nullptr, MS_BIND, nullptr),
            0);
  unpin_leftovers(pins);
  EXPECT_FALSE(fs::exists(pins));
  EXPECT_EQ(*read_file(root_ + "/allowed/deep/file"), "data");
}

}  // namespace

}  // namespace tessera::local
