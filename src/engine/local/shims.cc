#include "engine/local/shims.h"

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

pid_t find_shim(const std::string& socket, const std::string& container) {
  constexpr char kEnd = '\0';  // of each argument
  const std::string id = cat(kEnd, "-id", kEnd, container, kEnd);
  const std::string address = cat(kEnd, "-address", kEnd, socket, kEnd);
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
    auto pid = to_int(entry.path().filename().string());
    if (!pid) continue;
    auto line = read_file(entry.path() / "cmdline");
    if (line.ok() && line->find("containerd-shim") < line->find(kEnd) &&
        line->find(id) != std::string::npos && line->find(address) != std::string::npos)
      return static_cast<pid_t>(*pid);
  }
  return 0;
}

}  // namespace tessera::local
