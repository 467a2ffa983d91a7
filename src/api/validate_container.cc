// The container's settings in api/container.h: what must hold among them, and what a project must
// allow.

#include <algorithm>
#include <set>
#include <tuple>

#include "api/validate.h"
#include "base/text.h"

namespace tessera::api {

namespace {

// In the order of their numbers, capability.h.
constexpr std::string_view kCapabilities[] = {"CHOWN",
                                              "DAC_OVERRIDE",
                                              "DAC_READ_SEARCH",
                                              "FOWNER",
                                              "FSETID",
                                              "KILL",
                                              "SETGID",
                                              "SETUID",
                                              "SETPCAP",
                                              "LINUX_IMMUTABLE",
                                              "NET_BIND_SERVICE",
                                              "NET_BROADCAST",
                                              "NET_ADMIN",
                                              "NET_RAW",
                                              "IPC_LOCK",
                                              "IPC_OWNER",
                                              "SYS_MODULE",
                                              "SYS_RAWIO",
                                              "SYS_CHROOT",
                                              "SYS_PTRACE",
                                              "SYS_PACCT",
                                              "SYS_ADMIN",
                                              "SYS_BOOT",
                                              "SYS_NICE",
                                              "SYS_RESOURCE",
                                              "SYS_TIME",
                                              "SYS_TTY_CONFIG",
                                              "MKNOD",
                                              "LEASE",
                                              "AUDIT_WRITE",
                                              "AUDIT_CONTROL",
                                              "SETFCAP",
                                              "MAC_OVERRIDE",
                                              "MAC_ADMIN",
                                              "SYSLOG",
                                              "WAKE_ALARM",
                                              "BLOCK_SUSPEND",
                                              "AUDIT_READ",
                                              "PERFMON",
                                              "BPF",
                                              "CHECKPOINT_RESTORE"};
// Beside the default set, these reach nothing outside the container: device nodes open only as the
// cgroup allows, and locked memory counts against the memory limit.
constexpr std::string_view kHarmlessCapabilities[] = {"IPC_LOCK", "MKNOD"};

constexpr std::string_view kUlimits[] = {
    "as",   "core",   "cpu",   "data", "fsize",  "locks",  "memlock",    "msgqueue",
    "nice", "nofile", "nproc", "rss",  "rtprio", "rttime", "sigpending", "stack"};

// Device nodes of accelerators: whoever names one would go around the allocation.
constexpr std::string_view kAcceleratorDevices[] = {"/dev/nvidia", "/dev/kfd", "/dev/dri",
                                                    "/dev/davinci", "/dev/accel"};

template <size_t N>
bool has(const std::string_view (&list)[N], std::string_view item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}

bool only_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

bool is_ipv4(std::string_view text) {
  std::vector<std::string> parts = split(text, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](const auto& part) {
           auto number = to_int(part);
           return number && *number >= 0 && *number <= 255 && only_of(part, "0123456789");
         });
}
bool is_address(std::string_view text) {
  bool ipv6 = text.find(':') != std::string_view::npos && only_of(text, "0123456789abcdefABCDEF:.");
  return ipv6 || is_ipv4(text);
}
bool is_host_name(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
  return only_of(text, kLetters) && text.front() != '-' && text.front() != '.';
}

Error invalid(std::string field, std::string what, std::string hint = {}) {
  return error(Code::kInvalid, std::move(what), std::move(field), std::move(hint));
}

Status check_network(const JobSpec& spec) {
  const NetworkSettings& network = spec.network;
  if (network.mode != NetworkMode::kProject && (!spec.ports.empty() || spec.publishAll))
    return invalid("spec.ports", "ports are published from the project's network only",
                   network.mode == NetworkMode::kHost
                       ? "on the node's own network every port is open as it is"
                       : "leave out network.mode");
  if (!network.hostname.empty() && !is_host_name(network.hostname))
    return invalid("spec.network.hostname", cat(quoted(network.hostname), " is no host name"));
  for (size_t i = 0; i < network.hosts.size(); ++i) {
    std::string at = cat("spec.network.hosts[", i, "]");
    if (!is_host_name(network.hosts[i].name))
      return invalid(at + ".name", cat(quoted(network.hosts[i].name), " is no host name"));
    if (!is_address(network.hosts[i].address))
      return invalid(at + ".address", cat(quoted(network.hosts[i].address), " is no IP address"));
  }
  for (size_t i = 0; i < network.nameServers.size(); ++i)
    if (!is_address(network.nameServers[i]))
      return invalid(cat("spec.network.nameServers[", i, "]"),
                     cat(quoted(network.nameServers[i]), " is no IP address"));
  for (const auto* list : {&network.searchDomains, &network.resolverOptions})
    for (const std::string& word : *list)
      if (word.empty() || word.find_first_of(" \t\r\n") != std::string::npos)
        return invalid("spec.network", cat(quoted(word), " is not one word"));
  return Ok;
}

Status check_ports(const JobSpec& spec) {
  std::set<std::tuple<std::string, int64_t, Protocol>> taken;
  for (size_t i = 0; i < spec.ports.size(); ++i) {
    const Port& port = spec.ports[i];
    std::string at = cat("spec.ports[", i, "]");
    if (!port.hostAddress.empty() && !is_ipv4(port.hostAddress))
      return invalid(at + ".hostAddress", cat(quoted(port.hostAddress), " is no IPv4 address"),
                     "for example 127.0.0.1 or 0.0.0.0");
    bool fresh = taken.emplace(port.hostAddress, port.hostPort, port.protocol).second;
    if (port.hostPort != 0 && !fresh)
      return invalid(at + ".hostPort", cat("port ", port.hostPort, " is published twice"));
    if (port.hostPort != 0 && spec.replicas > 1)
      return invalid(at + ".hostPort", "replicas cannot share one port of the node",
                     "leave it out, and each gets a free one");
  }
  return Ok;
}

Status check_rights(const JobSpec& spec) {
  for (const auto& [list, field] : {std::pair(&spec.security.addCapabilities, "addCapabilities"),
                                    std::pair(&spec.security.dropCapabilities, "dropCapabilities")})
    for (size_t i = 0; i < list->size(); ++i) {
      auto known = canonical_capability((*list)[i]);
      if (!known.ok())
        return invalid(cat("spec.security.", field, "[", i, "]"), known.error().message,
                       known.error().hint);
    }
  for (size_t i = 0; i < spec.devices.size(); ++i)
    if (!only_of(spec.devices[i].permissions, "rwm"))
      return invalid(cat("spec.devices[", i, "].permissions"),
                     cat(quoted(spec.devices[i].permissions), " is not made of r, w and m"));
  return Ok;
}

Status check_limits(const JobSpec& spec) {
  for (size_t i = 0; i < spec.ulimits.size(); ++i) {
    const Ulimit& limit = spec.ulimits[i];
    std::string at = cat("spec.ulimits[", i, "]");
    if (!has(kUlimits, limit.name)) {
      auto near = nearest(limit.name, kUlimits);
      return invalid(at + ".name", cat(quoted(limit.name), " is no limit of setrlimit(2)"),
                     near ? cat("did you mean ", *near, "?") : "for example nofile or memlock");
    }
    if (limit.hard != -1 && (limit.soft == -1 || limit.soft > limit.hard))
      return invalid(at + ".soft", "is above the hard limit");
  }
  const std::string& cpus = spec.resources.cpuset;
  if (!cpus.empty() && !only_of(cpus, "0123456789,-"))
    return invalid("spec.resources.cpuset", cat(quoted(cpus), " is no list of CPUs"),
                   "write it like 0-3,8");
  if (spec.resources.swap && !spec.resources.memory)
    return invalid("spec.resources.swap", "needs a memory limit beside it",
                   "give spec.resources.memory");
  return Ok;
}

Status check_mounts(const JobSpec& spec) {
  std::set<std::string> targets;
  auto fresh = [&](const std::string& target, const std::string& field) -> Status {
    if (targets.insert(target).second) return Ok;
    return invalid(field, cat(quoted(target), " is mounted twice"));
  };
  for (size_t i = 0; i < spec.volumes.size(); ++i)
    TRY_STATUS(fresh(spec.volumes[i].target, cat("spec.volumes[", i, "].target")));
  for (size_t i = 0; i < spec.tmpfs.size(); ++i)
    TRY_STATUS(fresh(spec.tmpfs[i].target, cat("spec.tmpfs[", i, "].target")));
  for (size_t i = 0; i < spec.secrets.size(); ++i) {
    const SecretUse& use = spec.secrets[i];
    if (use.name.empty() == use.path.empty())
      return invalid(cat("spec.secrets[", i, "]"), "needs either a name or a path",
                     "name is an environment variable, path a file");
    if (!use.path.empty()) TRY_STATUS(fresh(use.path, cat("spec.secrets[", i, "].path")));
  }
  return Ok;
}

Status check_restarts(const JobSpec& spec) {
  if (spec.restartPolicy == RestartPolicy::kNever) return Ok;
  if (spec.retries > 0)
    return invalid("spec.retries", "a restartPolicy has no limit",
                   "give one of them: retries to try so many times");
  if (spec.restartPolicy == RestartPolicy::kAlways && spec.replicas > 1)
    return invalid("spec.restartPolicy", "Always is for jobs of one replica");
  return Ok;
}

// ---- Privileges

struct Wish {
  bool wanted;
  bool allowed;
  std::string_view field;
  std::string_view what;
  std::string_view privilege;
};

bool lies_under(std::string_view path, std::string_view root) {
  return path == root ||
         (path.starts_with(root) && (root.ends_with('/') || path[root.size()] == '/'));
}

Status check_devices(const JobSpec& spec, const std::string& project, const Privileges& allowed) {
  for (size_t i = 0; i < spec.devices.size(); ++i) {
    const std::string& path = spec.devices[i].source;
    std::string at = cat("spec.devices[", i, "].source");
    for (std::string_view prefix : kAcceleratorDevices)
      if (path.starts_with(prefix))
        return error(Code::kPermissionDenied,
                     cat("accelerators are allocated, not named by path like ", path), at,
                     "ask for them with resources.gpus (--gpus)");
    bool fine = std::any_of(allowed.devices.begin(), allowed.devices.end(),
                            [&](const std::string& root) { return lies_under(path, root); });
    if (!fine)
      return error(Code::kPermissionDenied, cat("project ", project, " may not use ", path), at,
                   "an admin can add it to the project's spec.privileges.devices");
  }
  return Ok;
}

}  // namespace

Result<std::string> canonical_capability(std::string_view name) {
  std::string wanted(trim(name));
  for (char& c : wanted) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (wanted.starts_with("CAP_")) wanted = wanted.substr(4);
  if (wanted == "ALL" || has(kCapabilities, wanted)) return wanted;
  auto near = nearest(wanted, kCapabilities);
  return error(Code::kInvalid, cat(quoted(name), " is not a capability"), {},
               near ? cat("did you mean ", *near, "?") : "for example SYS_PTRACE, or ALL");
}

std::span<const std::string_view> all_capabilities() {
  return kCapabilities;
}

Status validate_container(const JobSpec& spec) {
  TRY_STATUS(check_network(spec));
  TRY_STATUS(check_ports(spec));
  TRY_STATUS(check_rights(spec));
  TRY_STATUS(check_limits(spec));
  TRY_STATUS(check_mounts(spec));
  TRY_STATUS(check_restarts(spec));
  if (!spec.platform.empty() && !spec.platform.starts_with("linux/"))
    return invalid("spec.platform", cat(quoted(spec.platform), " is no platform of Linux"),
                   "write it like linux/amd64");
  if (spec.healthCheck && spec.healthCheck->disabled && !spec.healthCheck->command.empty())
    return invalid("spec.healthCheck.disabled", "a command is given as well");
  return Ok;
}

Status check_privileges(const Job& job, const Privileges& allowed) {
  const JobSpec& spec = job.spec;
  const SecuritySettings& security = spec.security;
  const std::string& project = job.metadata.project;
  const Wish wishes[] = {
      {security.privileged, allowed.privileged, "security.privileged",
       "be privileged, which is as good as root on the node", "privileged"},
      {spec.network.mode == NetworkMode::kHost, allowed.hostNetwork, "network.mode",
       "use the node's network, where it would reach, and be reached as, everything on it",
       "hostNetwork"},
      {security.hostPid, allowed.hostPid, "security.hostPid", "see the node's processes",
       "hostPid"},
      {security.hostIpc, allowed.hostIpc, "security.hostIpc", "share memory with the node",
       "hostIpc"},
      {security.unconfined, allowed.unconfined, "security.unconfined",
       "do without a filter of system calls", "unconfined"},
  };
  for (const Wish& wish : wishes)
    if (wish.wanted && !wish.allowed)
      return error(Code::kPermissionDenied,
                   cat("jobs of project ", project, " may not ", wish.what),
                   cat("spec.", wish.field),
                   cat("an admin can set the project's spec.privileges.", wish.privilege));
  std::set<std::string> granted;
  for (const std::string& name : allowed.capabilities) {
    TRY(std::string known, canonical_capability(name));
    granted.insert(std::move(known));
  }
  for (const std::string& name : security.addCapabilities) {
    TRY(std::string wanted, canonical_capability(name));
    bool fine = has(kDefaultCapabilities, wanted) || has(kHarmlessCapabilities, wanted) ||
                granted.contains(wanted) || granted.contains("ALL") || allowed.privileged;
    if (!fine)
      return error(Code::kPermissionDenied,
                   cat("jobs of project ", project, " may not have the capability ", wanted),
                   "spec.security.addCapabilities",
                   "an admin can add it to the project's spec.privileges.capabilities");
  }
  return check_devices(spec, project, allowed);
}

}  // namespace tessera::api
