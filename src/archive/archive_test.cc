#include "archive/archive.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::archive {
namespace {

namespace fs = std::filesystem;

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tessera-archive-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    folder_ = path;
    fs::create_directories(at("from/sub"));
    write("from/a", "alpha");
    write("from/sub/b", std::string(200'000, 'b'));
    fs::create_symlink("a", at("from/link"));
    ::chmod(at("from/a").c_str(), 0750);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(std::string_view name) const { return cat(folder_, "/", name); }
  void write(std::string_view name, std::string_view text) const {
    ASSERT_TRUE(append_file(at(name), text).ok());
  }
  std::string text(std::string_view name) const {
    auto read = read_file(at(name));
    return read.ok() ? *read : "(none)";
  }
  std::string packed(const std::string& path) const {
    std::string out;
    Status done = pack(path, [&](std::string_view bytes) {
      out += bytes;
      return true;
    });
    EXPECT_TRUE(done.ok()) << done.error().text();
    return out;
  }
  // In small pieces, as a network has them.
  static Status unpacked(const std::string& stream, const std::string& path) {
    size_t place = 0;
    return unpack(
        [&]() -> Result<std::string> {
          std::string piece = stream.substr(place, 1000);
          place += piece.size();
          return piece;
        },
        path);
  }

  std::string folder_;
};

// docker cp's table: what becomes of a source at a target that is not there, or is a folder.
TEST_F(ArchiveTest, GoesWhereDockerPutsIt) {
  struct Case {
    const char* source;
    const char* target;
    const char* arrives;  // one file of it
  };
  fs::create_directories(at("there"));
  const Case kCases[] = {
      {"from/a", "file", "file"},
      {"from/a", "there", "there/a"},
      {"from/a", "there/", "there/a"},
      {"from", "new", "new/sub/b"},
      {"from/", "there", "there/from/sub/b"},
      {"from/.", "there", "there/sub/b"},
      {"from/.", "new2", "new2/a"},
  };
  for (const Case& c : kCases) {
    Status done = unpacked(packed(at(c.source)), at(c.target));
    ASSERT_TRUE(done.ok()) << c.source << " to " << c.target << ": " << done.error().text();
    EXPECT_TRUE(fs::exists(at(c.arrives))) << c.arrives;
  }
  EXPECT_EQ(text("new/sub/b").size(), 200'000u);
  EXPECT_EQ(fs::read_symlink(at("new/link")), "a");
  struct stat facts{};
  ASSERT_EQ(::stat(at("new/a").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0750u);
}

TEST_F(ArchiveTest, WritesOverAFileButNotAFolderOverOne) {
  write("old", "before");
  ASSERT_TRUE(unpacked(packed(at("from/a")), at("old")).ok());
  EXPECT_EQ(text("old"), "alpha");
  Status refused = unpacked(packed(at("from")), at("old"));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("is no folder"), std::string::npos);
}

TEST_F(ArchiveTest, SaysWhatIsMissing) {
  EXPECT_EQ(pack(at("nothing"), [](auto) { return true; }).error().code, Code::kNotFound);
  for (const char* target : {"nowhere/x", "missing/"}) {
    Status refused = unpacked(packed(at("from/a")), at(target));
    ASSERT_FALSE(refused.ok()) << target;
    EXPECT_EQ(refused.error().code, Code::kNotFound) << refused.error().text();
  }
  EXPECT_FALSE(unpacked("", at("x")).ok());
  EXPECT_FALSE(unpacked("this is no archive of any kind", at("x")).ok());
}

// A stream that is not ours may name anything: a link that it brings, or that is there, leads no
// file out of the target.
TEST_F(ArchiveTest, LinksLeadNothingOut) {
  fs::create_directories(at("outside"));
  fs::create_directories(at("evil/d"));
  write("evil/d/x", "evil");
  std::string stream = packed(at("evil/."));
  fs::create_directories(at("target"));
  fs::create_symlink(at("outside"), at("target/d"));
  (void)unpacked(stream, at("target"));
  EXPECT_FALSE(fs::exists(at("outside/x")));
}

TEST_F(ArchiveTest, ASinkThatHasEnoughEndsIt) {
  EXPECT_FALSE(pack(at("from"), [](auto) { return false; }).ok());
}

}  // namespace
}  // namespace tessera::archive
