#include "engine/local/shims.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

std::vector<Shim> find_shims(const std::string& socket) {
  std::vector<Shim> out;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    auto pid = to_int(entry.path().filename().string());
    if (!pid) continue;
    auto line = read_file(entry.path() / "cmdline");
    if (!line.ok() || line->find("containerd-shim") >= line->find('\0')) continue;
    std::vector<std::string> words = split(*line, '\0');
    auto value = [&](std::string_view flag) {
      auto at = std::find(words.begin(), words.end(), flag);
      return at != words.end() && at + 1 != words.end() ? *(at + 1) : std::string();
    };
    if (value("-address") == socket) out.push_back({static_cast<pid_t>(*pid), value("-id")});
  }
  return out;
}

pid_t find_shim(const std::string& socket, const std::string& container) {
  for (const Shim& shim : find_shims(socket))
    if (shim.container == container) return shim.pid;
  return 0;
}

}  // namespace tessera::local
