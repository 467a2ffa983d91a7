#include "engine/local/users.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"

namespace tessera::local {

namespace {

const UserFiles kFiles{.passwd =
                           "root:x:0:0:root:/root:/bin/sh\n"
                           "app:x:1000:1001:App:/home/app:/bin/sh\n"
                           "broken line\n"
                           "42:x:77:77::/home/answer:\n",
                       .group =
                           "root:x:0:\nappgroup:x:1001:\nvideo:x:44:app,root\n"
                           "render:x:109:app\n"};

TEST(Users, ResolveAsDockerDoes) {
  struct Row {
    const char* wanted;
    int64_t uid, gid;
    std::vector<int64_t> groups;
    const char* home;
  };
  for (const Row& row :
       {Row{"", 0, 0, {44}, "/root"}, Row{"root", 0, 0, {44}, "/root"},
        Row{"app", 1000, 1001, {44, 109}, "/home/app"},
        Row{"1000", 1000, 1001, {44, 109}, "/home/app"},
        Row{"1000:1000", 1000, 1000, {}, "/home/app"}, Row{"app:video", 1000, 44, {}, "/home/app"},
        Row{"app:5000", 1000, 5000, {}, "/home/app"}, Row{"12345", 12345, 0, {}, "/"},
        Row{"12345:54321", 12345, 54321, {}, "/"},
        Row{"42", 77, 77, {}, "/home/answer"},  // a name first
        Row{":video", 0, 44, {}, "/root"}}) {
    auto user = resolve_user(row.wanted, kFiles);
    ASSERT_TRUE(user.ok()) << row.wanted;
    EXPECT_EQ(user->uid, row.uid) << row.wanted;
    EXPECT_EQ(user->gid, row.gid) << row.wanted;
    EXPECT_EQ(user->groups, row.groups) << row.wanted;
    EXPECT_EQ(user->home, row.home) << row.wanted;
  }
  EXPECT_TRUE(resolve_user("", {}).ok()) << "an image without the files";
}

TEST(Users, UnknownNamesAreRefused) {
  for (const char* wanted : {"nobody-here", "app:no-such-group", "-1", "4294967295", "1e3"}) {
    auto user = resolve_user(wanted, kFiles);
    ASSERT_FALSE(user.ok()) << wanted;
    EXPECT_EQ(user.error().code, Code::kInvalid);
  }
}

TEST(Users, FilesOfAnImageCannotLeadOutOfIt) {
  char name[] = "/tmp/tessera-users-XXXXXX";
  std::string root = ::mkdtemp(name);
  std::filesystem::create_directories(root + "/etc");
  std::filesystem::create_directories(root + "/usr/lib");
  ASSERT_TRUE(write_file(root + "/usr/lib/passwd", "inside\n").ok());
  ASSERT_EQ(::symlink("/usr/lib/passwd", (root + "/etc/passwd").c_str()), 0);
  ASSERT_EQ(::symlink("../../../../../../etc/group", (root + "/etc/group").c_str()), 0);
  UserFiles files = read_user_files(root);
  EXPECT_EQ(files.passwd, "inside\n") << "absolute links are seen from the image's root";
  EXPECT_EQ(files.group, "");
  std::filesystem::remove(root + "/etc/group");
  ASSERT_EQ(::mkfifo((root + "/etc/group").c_str(), 0600), 0);
  EXPECT_EQ(read_user_files(root).group, "") << "a pipe must not hang us";
  std::filesystem::remove_all(root);
}

}  // namespace

}  // namespace tessera::local
