#include "engine/local/host.h"

#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <thread>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

namespace tessera::local {

namespace {

constexpr auto kCgroup2Magic = 0x63677270;
const char* const kCgroups = "/sys/fs/cgroup";

int64_t hard_limit(__rlimit_resource what) {
  rlimit limit{};
  ::getrlimit(what, &limit);
  // RLIM_INFINITY does not fit; what fits is as good as none.
  constexpr auto kMost = static_cast<rlim_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(std::min(limit.rlim_max, kMost));
}

// Files of controllers are not in the root of the second hierarchy, but in each of its children.
bool any_child_has(const std::string& folder, const char* file) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure))
    if (exists(entry.path() / file)) return true;
  return false;
}

std::string text_of(const std::string& path) {
  auto text = read_file(path);
  return text.ok() ? *text : std::string();
}

// The number after `key` in a file of "key number" lines, the key perhaps with a colon.
int64_t number_in(std::string_view text, std::string_view key) {
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    std::string_view rest = trim(std::string_view(line).substr(key.size()));
    return to_int(rest.substr(0, rest.find(' '))).value_or(0);
  }
  return 0;
}

std::string os_name() {
  for (const std::string& line : split(text_of("/etc/os-release"), '\n')) {
    constexpr std::string_view kKey = "PRETTY_NAME=";
    if (!line.starts_with(kKey)) continue;
    std::string_view value = trim(std::string_view(line).substr(kKey.size()));
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return "Linux";
}

}  // namespace

HostLimits find_host_limits(const std::string& runc) {
  HostLimits out;
  struct statfs facts{};
  out.cgroup_v2 = ::statfs(kCgroups, &facts) == 0 && facts.f_type == kCgroup2Magic;
  std::string root = kCgroups;
  out.swap_limit = out.cgroup_v2 ? any_child_has(root, "memory.swap.max")
                                 : exists(root + "/memory/memory.memsw.limit_in_bytes");
  out.cpu_quota =
      out.cgroup_v2 ? any_child_has(root, "cpu.max") : exists(root + "/cpu/cpu.cfs_quota_us");
  out.open_files = hard_limit(RLIMIT_NOFILE);
  out.locked_bytes = hard_limit(RLIMIT_MEMLOCK);
  out.oom_score_adj =
      static_cast<int>(to_int(trim(text_of("/proc/self/oom_score_adj"))).value_or(0));
  auto features = run_program({.argv = {runc, "features"}});
  out.recursive_read_only = features.ok() && features->out.find("\"rro\"") != std::string::npos;
  return out;
}

api::Node describe_host(const std::string& name) {
  utsname system{};
  ::uname(&system);
  api::Node node;
  node.metadata.name = name.empty() ? system.nodename : name;
  node.status.cpus = MilliCpu{int64_t{std::thread::hardware_concurrency()} * 1000};
  node.status.memory = MiB{number_in(text_of("/proc/meminfo"), "MemTotal:") / 1024};
  node.status.os = os_name();
  node.status.kernel = system.release;
  return node;
}

std::string resolver_file(const std::vector<std::string>& servers) {
  std::string out;
  for (const std::string& server : servers) out += cat("nameserver ", server, "\n");
  if (!out.empty()) return out;
  // systemd-resolved keeps the real servers beside the file that names only itself.
  for (const char* path : {"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"}) {
    bool usable = false;
    out.clear();
    for (const std::string& line : split(text_of(path), '\n')) {
      bool server = line.starts_with("nameserver");
      std::string_view address = server ? trim(std::string_view(line).substr(10)) : line;
      if (server && (address.starts_with("127.") || address == "::1")) continue;
      usable = usable || server;
      if (!line.empty()) out += line + "\n";
    }
    if (usable) return out;
  }
  return out;
}

}  // namespace tessera::local
