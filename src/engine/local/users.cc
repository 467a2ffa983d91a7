#include "engine/local/users.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

// Larger files are no user databases.
constexpr size_t kFileLimit = size_t{4} << 20;
constexpr int64_t kLargestId = 4'294'967'294;  // the next means "unchanged" to the kernel

struct Account {
  std::string name;
  int64_t uid = 0, gid = 0;
  std::string home;
};
struct Group {
  std::string name;
  int64_t gid = 0;
  std::vector<std::string> members;
};

std::vector<Account> accounts(std::string_view passwd) {
  std::vector<Account> out;
  for (const std::string& line : split(passwd, '\n')) {
    auto fields = split(line, ':');
    if (fields.size() < 6) continue;
    auto uid = to_int(fields[2]), gid = to_int(fields[3]);
    if (uid && gid) out.push_back({fields[0], *uid, *gid, fields[5]});
  }
  return out;
}

std::vector<Group> groups(std::string_view group) {
  std::vector<Group> out;
  for (const std::string& line : split(group, '\n')) {
    auto fields = split(line, ':');
    if (fields.size() < 3) continue;
    auto gid = to_int(fields[2]);
    if (!gid) continue;
    out.push_back({fields[0], *gid, {}});
    if (fields.size() > 3) out.back().members = split(trim(fields[3]), ',');
  }
  return out;
}

std::optional<int64_t> id_in(std::string_view text) {
  auto number = to_int(text);
  if (number && *number >= 0 && *number <= kLargestId) return number;
  return std::nullopt;
}

template <class Row>
const Row* find(const std::vector<Row>& rows, std::string_view name, std::optional<int64_t> id,
                int64_t Row::* id_field) {
  // A name that is a number is looked up as a name first, as docker does.
  for (const Row& row : rows)
    if (row.name == name) return &row;
  for (const Row& row : rows)
    if (id && row.*id_field == *id) return &row;
  return nullptr;
}

}  // namespace

Result<User> resolve_user(std::string_view wanted, const UserFiles& files) {
  size_t colon = wanted.find(':');
  std::string_view user_part = wanted.substr(0, colon);
  std::string_view group_part =
      colon == std::string_view::npos ? std::string_view() : wanted.substr(colon + 1);
  if (user_part.empty()) user_part = "0";

  auto known = accounts(files.passwd);
  auto known_groups = groups(files.group);
  auto uid = id_in(user_part);
  const Account* account = find(known, user_part, uid, &Account::uid);
  if (!account && !uid)
    return error(Code::kInvalid, cat("the image has no user ", quoted(user_part)), {},
                 "use a number, or a name from its /etc/passwd");
  User user;
  user.uid = account ? account->uid : *uid;
  user.gid = account ? account->gid : 0;
  if (account && !account->home.empty()) user.home = account->home;

  if (!group_part.empty()) {
    auto gid = id_in(group_part);
    const Group* group = find(known_groups, group_part, gid, &Group::gid);
    if (!group && !gid)
      return error(Code::kInvalid, cat("the image has no group ", quoted(group_part)), {},
                   "use a number, or a name from its /etc/group");
    user.gid = group ? group->gid : *gid;
    return user;
  }
  for (const Group& group : known_groups)
    if (account && group.gid != user.gid &&
        std::find(group.members.begin(), group.members.end(), account->name) != group.members.end())
      user.groups.push_back(group.gid);
  return user;
}

Status add_groups(const std::vector<std::string>& wanted, const UserFiles& files, User& user) {
  auto known = groups(files.group);
  for (const std::string& name : wanted) {
    auto gid = id_in(name);
    const Group* group = find(known, name, gid, &Group::gid);
    if (!group && !gid)
      return error(Code::kInvalid, cat("the image has no group ", quoted(name)), {},
                   "use a number, or a name from its /etc/group");
    int64_t id = group ? group->gid : *gid;
    if (std::find(user.groups.begin(), user.groups.end(), id) == user.groups.end())
      user.groups.push_back(id);
  }
  return Ok;
}

UserFiles read_user_files(const std::string& root) {
  Fd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto read = [&](const char* path) {
    open_how how{.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    Fd file(static_cast<int>(::syscall(SYS_openat2, folder.get(), path, &how, sizeof how)));
    struct stat facts{};
    if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::string();
    auto text = read_file(cat("/proc/self/fd/", file.get()), kFileLimit);
    return text.ok() ? *text : std::string();
  };
  return {read("etc/passwd"), read("etc/group")};
}

}  // namespace tessera::local
