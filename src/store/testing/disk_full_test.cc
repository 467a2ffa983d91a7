// A disk that is full and one that is read-only, for real: a small tmpfs. Needs root, so it is of
// the container tier.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "store/store.h"

namespace tessera::store {

namespace {

class SmallDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
    std::string pattern = testing::TempDir() + "tessera-disk-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ASSERT_EQ(::mount("tessera-test", folder_.c_str(), "tmpfs", 0, "size=1m,mode=0700"), 0)
        << std::strerror(errno);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    EXPECT_EQ(::umount(folder_.c_str()), 0) << std::strerror(errno);
    std::filesystem::remove(folder_);
  }
  std::string file() const { return folder_ + "/tessera.db"; }
  // Takes all the room that is left.
  void fill() const {
    Status filled = Ok;
    for (int size : {65536, 4096, 1})
      for (int i = 0; filled.ok() || i == 0; ++i)
        filled = write_file(cat(folder_, "/ballast-", size, "-", i), std::string(size, 'x'));
  }
  void make_room() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename().string().starts_with("ballast"))
        std::filesystem::remove(entry.path());
  }

  std::string folder_;
};

Batch batch_of(int64_t n) {
  return {.put = {{"Job", "same", n, cat(n)}, {"Job", cat("job-", n), n, std::string(2000, 'y')}},
          .outbox_put = {{n, cat(n)}},
          .counters = {{"n", n}}};
}

TEST_F(SmallDisk, AFullOneFailsTheCommitAndNothingElse) {
  auto opened = open_file(file());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  Store& store = **opened;
  ASSERT_TRUE(store.commit(batch_of(1)).ok());
  fill();
  int64_t last = 1;
  Status status = Ok;
  while ((status = store.commit(batch_of(last + 1))).ok()) ++last;  // room inside its own files
  EXPECT_EQ(status.error().code, Code::kExhausted);
  EXPECT_NE(status.error().message.find(file() + " has no room"), std::string::npos)
      << status.error().text();
  for (int again = 0; again < 3; ++again) EXPECT_FALSE(store.commit(batch_of(last + 1)).ok());
  auto loaded = store.load();
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_EQ(loaded->counters.at("n"), last) << "what was acknowledged is there";
  EXPECT_EQ(loaded->documents.size(), static_cast<size_t>(last) + 1) << "and nothing half";

  make_room();
  status = store.commit(batch_of(last + 1));
  EXPECT_TRUE(status.ok()) << status.error().text();
  opened->reset();
  opened = open_file(file());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ((*opened)->load()->counters.at("n"), last + 1);
}

TEST_F(SmallDisk, AFullOneIsNamedWhenAStoreIsMade) {
  fill();
  auto opened = open_file(file());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::kExhausted) << opened.error().text();
  EXPECT_NE(opened.error().message.find(folder_), std::string::npos) << opened.error().text();
}

TEST_F(SmallDisk, AReadOnlyOneIsNamed) {
  open_file(file()).value().reset();
  ASSERT_EQ(::mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  auto opened = open_file(file());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::kPermissionDenied);
  EXPECT_NE(opened.error().message.find(folder_), std::string::npos) << opened.error().text();
  EXPECT_NE(opened.error().message.find("Read-only file system"), std::string::npos)
      << opened.error().text();
}

}  // namespace

}  // namespace tessera::store
