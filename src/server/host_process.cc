#include "server/host_process.h"

#include <pwd.h>
#include <sys/stat.h>

#include <array>

#include "base/file.h"
#include "base/text.h"

namespace tessera::server {

namespace {

// Enough to know a program by; the rest of a training script's arguments is noise in a table.
constexpr size_t kCommandLimit = 512;

std::string user_name(uid_t uid) {
  std::array<char, 16384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found)
    return found->pw_name;
  return cat(uid);
}

// Empty when it cannot be read: the process may be gone.
std::string content(const std::string& path) {
  auto text = read_file(path);
  return text.ok() ? *text : std::string();
}

}  // namespace

HostProcess host_process(int64_t pid) {
  std::string folder = cat("/proc/", pid);
  struct stat facts{};
  if (::stat(folder.c_str(), &facts) != 0) return {};
  HostProcess out{.user = user_name(facts.st_uid), .command = {}};
  out.command = content(folder + "/cmdline");
  for (char& c : out.command)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';  // arguments end with a zero byte
  out.command = trim(out.command);
  if (out.command.empty()) out.command = trim(content(folder + "/comm"));
  out.command.resize(std::min(out.command.size(), kCommandLimit));
  return out;
}

}  // namespace tessera::server
