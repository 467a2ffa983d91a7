#include "engine/local/secret_files.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"

namespace tessera::local {

namespace {

TEST(SecretFiles, LieInMemoryForTheirOwnerAndGo) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounts need root";
  char name[] = "/tmp/tessera-secrets-XXXXXX";
  std::string root = ::mkdtemp(name);
  std::string folder = root + "/secrets";
  {
    auto files = SecretFiles::make(
        {{"/run/token", "s3cret", 0440}, {"/run/big", std::string(100'000, 'x'), 0400}},
        User{.uid = 1000, .gid = 50}, folder);
    ASSERT_TRUE(files.ok()) << files.error().text();
    ASSERT_EQ(files->bound().size(), 2u);
    const BoundVolume& token = files->bound()[0];
    EXPECT_EQ(token.target, "/run/token");
    EXPECT_TRUE(token.read_only);
    EXPECT_EQ(*read_file(token.source), "s3cret");
    struct stat facts{};
    ASSERT_EQ(::stat(token.source.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_uid, 1000u);
    EXPECT_EQ(facts.st_gid, 50u);
    EXPECT_EQ(facts.st_mode & 0777, 0440u);
    struct statfs where{};
    ASSERT_EQ(::statfs(token.source.c_str(), &where), 0);
    EXPECT_EQ(where.f_type, TMPFS_MAGIC);
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  auto none = SecretFiles::make({}, {}, folder);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(std::filesystem::exists(folder));
  std::filesystem::remove_all(root);
}

}  // namespace

}  // namespace tessera::local
