#pragma once
// Users and groups as an image knows them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::local {

// The image's /etc/passwd and /etc/group; empty when it has none.
struct UserFiles {
  std::string passwd, group;
};

struct User {
  int64_t uid = 0;
  int64_t gid = 0;
  std::vector<int64_t> groups;  // supplementary ones
  std::string home = "/";
};

// "", "name", "uid", "name:group", "uid:gid" and mixes of them, as docker reads them: a number need
// not be in the files; without a group, the user's groups are those that the files give it.
Result<User> resolve_user(std::string_view wanted, const UserFiles& files);

// Adds groups, by name or number, to those of the user.
Status add_groups(const std::vector<std::string>& wanted, const UserFiles& files, User& user);

// Reads both from under `root`; links in the image cannot lead out of it.
UserFiles read_user_files(const std::string& root);

}  // namespace tessera::local
