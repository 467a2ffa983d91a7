#include "engine/local/shims.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

using Words = std::vector<std::string>;

// Calls `look` with the command line of each process whose program's path has this part.
void for_each_process(std::string_view program,
                      const std::function<void(pid_t pid, const Words& words)>& look) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    auto pid = to_int(entry.path().filename().string());
    if (!pid) continue;
    auto line = read_file(entry.path() / "cmdline");
    if (line.ok() && line->find(program) < line->find('\0'))
      look(static_cast<pid_t>(*pid), split(*line, '\0'));
  }
}

std::string value_of(const Words& words, std::string_view flag) {
  auto at = std::find(words.begin(), words.end(), flag);
  return at != words.end() && at + 1 != words.end() ? *(at + 1) : std::string();
}

}  // namespace

std::vector<Shim> find_shims(const std::string& socket) {
  std::vector<Shim> out;
  for_each_process("containerd-shim", [&](pid_t pid, const Words& words) {
    if (value_of(words, "-address") == socket) out.push_back({pid, value_of(words, "-id")});
  });
  return out;
}

pid_t find_runc(const std::string& root, const std::string& container) {
  pid_t found = 0;
  for_each_process("runc", [&](pid_t pid, const Words& words) {
    bool concerned = std::find(words.begin(), words.end(), container) != words.end();
    if (concerned && value_of(words, "--root") == root) found = pid;
  });
  return found;
}

pid_t find_shim(const std::string& socket, const std::string& container) {
  for (const Shim& shim : find_shims(socket))
    if (shim.container == container) return shim.pid;
  return 0;
}

}  // namespace tessera::local
