#include "engine/local/host.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <thread>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

namespace tessera::local {

namespace {

constexpr std::pair<const char*, __rlimit_resource> kLimits[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
    {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
    {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK}};

int64_t own_hard_limit(__rlimit_resource what) {
  rlimit limit{};
  ::getrlimit(what, &limit);
  // RLIM_INFINITY does not fit; what fits is as good as none.
  constexpr auto kMost = static_cast<rlim_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(std::min(limit.rlim_max, kMost));
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

// A set of capabilities in /proc/self/status.
uint64_t capability_bits(std::string_view status, std::string_view key) {
  for (const std::string& line : split(status, '\n'))
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 16);
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
  out.cgroups = find_cgroups();
  for (auto [name, what] : kLimits) out.hard_limits[name] = own_hard_limit(what);
  std::string status = text_of("/proc/self/status");
  out.capabilities = capability_bits(status, "CapBnd:") & capability_bits(status, "CapPrm:");
  out.may_raise_limits = capability_bits(status, "CapEff:") >> CAP_SYS_RESOURCE & 1;
  out.oom_score_adj =
      static_cast<int>(to_int(trim(text_of("/proc/self/oom_score_adj"))).value_or(0));
  auto features = run_program({.argv = {runc, "features"}});
  out.recursive_read_only = features.ok() && features->out.find("\"rro\"") != std::string::npos;
  return out;
}

int64_t HostLimits::hard_limit(const std::string& name) const {
  auto found = hard_limits.find(name);
  return found == hard_limits.end() ? std::numeric_limits<int64_t>::max() : found->second;
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

namespace {

std::string machine_resolver_file() {
  // systemd-resolved keeps the real servers beside the file that names only itself.
  std::string out;
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

std::string server_lines(const std::vector<std::string>& servers) {
  std::string out;
  for (const std::string& server : servers) out += cat("nameserver ", server, "\n");
  return out;
}

}  // namespace

std::string resolver_file(const std::vector<std::string>& servers,
                          const api::NetworkSettings& own) {
  std::string base = servers.empty() ? machine_resolver_file() : server_lines(servers);
  std::string out = server_lines(own.nameServers);
  if (!own.searchDomains.empty()) out += cat("search ", join(own.searchDomains, " "), "\n");
  if (!own.resolverOptions.empty()) out += cat("options ", join(own.resolverOptions, " "), "\n");
  // The rest is the machine's, line by line of another kind.
  for (const std::string& line : split(base, '\n')) {
    bool replaced = (line.starts_with("nameserver") && !own.nameServers.empty()) ||
                    (line.starts_with("search") && !own.searchDomains.empty()) ||
                    (line.starts_with("options") && !own.resolverOptions.empty());
    if (!line.empty() && !replaced) out += line + "\n";
  }
  return out;
}

}  // namespace tessera::local
