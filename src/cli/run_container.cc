#include "cli/run_container.h"

#include <algorithm>

#include "api/codec.h"
#include "base/text.h"
#include "cli/flag_values.h"
#include "cli/schema_doc.h"

namespace tessera::cli {

namespace {

std::string spec_doc(std::string_view path) {
  return schema_doc(schema::describe<api::Job>(), cat("spec.", path));
}

// Docker's pause before it starts a container again; ours is for jobs, and longer.
constexpr Millis kRestartPause{100};

// --- Network

Status set_network(const Args& args, RunPlan& plan) {
  api::NetworkSettings& network = plan.job.spec.network;
  for (std::string_view flag : {"network", "net"}) {
    std::string mode = args.text(flag, "bridge");
    if (mode == "host")
      network.mode = api::NetworkMode::kHost;
    else if (mode == "none")
      network.mode = api::NetworkMode::kNone;
    else if (mode != "bridge" && mode != "default")
      return error(Code::kInvalid,
                   cat(quoted(mode), " is not offered: a job is on its project's network"),
                   Args::label(flag), "use bridge, none or host");
  }
  network.hostname = args.text("hostname");
  network.nameServers = args.all("dns");
  network.searchDomains = args.all("dns-search");
  network.resolverOptions = args.all("dns-option");
  for (const std::string& option : args.all("dns-opt")) network.resolverOptions.push_back(option);
  auto parse_host = [](std::string_view text) -> Result<api::HostEntry> {
    size_t colon = text.find_first_of(":=");
    if (colon == std::string_view::npos || colon == 0)
      return error(Code::kInvalid, cat(quoted(text), " is not NAME:ADDRESS"));
    std::string address(text.substr(colon + 1));
    if (address == "host-gateway")
      return error(Code::kInvalid,
                   "host-gateway is not offered: jobs do not reach services of the node");
    if (address.starts_with('[') && address.ends_with(']'))
      address = address.substr(1, address.size() - 2);
    return api::HostEntry{std::string(text.substr(0, colon)), std::move(address)};
  };
  return with_value(args, "add-host", parse_host,
                    [&](api::HostEntry entry) { network.hosts.push_back(std::move(entry)); });
}

struct PortRange {
  int64_t first = 0, last = 0;
};
Result<PortRange> parse_port_range(std::string_view text) {
  size_t dash = text.find('-');
  auto first = to_int(text.substr(0, dash));
  auto last = dash == std::string_view::npos ? first : to_int(text.substr(dash + 1));
  if (first && last && *first >= 1 && *last <= 65535 && *first <= *last)
    return PortRange{*first, *last};
  return error(Code::kInvalid, cat(quoted(text), " is no port"), {}, "ports are 1 to 65535");
}

// --- Rights

Status set_security_option(std::string_view option, api::SecuritySettings& security) {
  size_t sign = option.find_first_of("=:");
  std::string_view key = option.substr(0, sign);
  std::string_view value =
      sign == std::string_view::npos ? std::string_view("true") : option.substr(sign + 1);
  if (key == "no-new-privileges") {
    if (value == "true") return Ok;  // always so
    return error(Code::kInvalid, "jobs never gain privileges by what they run");
  }
  if (key == "seccomp" && value == "unconfined") {
    security.unconfined = true;
    return Ok;
  }
  if (key == "seccomp" && value == "builtin") return Ok;
  if (key == "seccomp")
    return error(Code::kInvalid, "profiles of your own are not offered", {},
                 "seccomp=unconfined takes the filter away, where the project allows it");
  // Neither AppArmor nor SELinux labels are applied: without is what happens.
  if ((key == "apparmor" && value == "unconfined") || (key == "label" && value == "disable"))
    return Ok;
  return error(Code::kInvalid, cat(quoted(option), " is not offered"), {},
               "no-new-privileges, seccomp=unconfined, apparmor=unconfined and label=disable are");
}

Result<api::DeviceMapping> parse_device(std::string_view text) {
  std::vector<std::string> parts = split(text, ':');
  if (text.find('=') != std::string_view::npos && !text.starts_with('/'))
    return error(Code::kInvalid, cat(quoted(text), " names a CDI device: devices are allocated"),
                 {}, "use --gpus");
  if (parts.size() > 3)
    return error(Code::kInvalid, cat(quoted(text), " has more than three parts"));
  api::DeviceMapping out{.source = parts[0]};
  auto is_permissions = [](const std::string& word) {
    return !word.empty() && word.find_first_not_of("rwm") == std::string::npos;
  };
  if (parts.size() == 2 && is_permissions(parts[1]))
    out.permissions = parts[1];
  else if (parts.size() >= 2)
    out.target = parts[1];
  if (parts.size() == 3) out.permissions = parts[2];
  return out;
}

Result<api::Ulimit> parse_ulimit(std::string_view text) {
  size_t equals = text.find('=');
  std::string_view values =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  size_t colon = values.find(':');
  auto soft = to_int(values.substr(0, colon));
  auto hard = colon == std::string_view::npos ? soft : to_int(values.substr(colon + 1));
  if (!soft || !hard)
    return error(Code::kInvalid, cat(quoted(text), " is not NAME=SOFT[:HARD]"), {},
                 "for example nofile=1024:4096");
  return api::Ulimit{std::string(text.substr(0, equals)), *soft, *hard};
}

Status set_rights(const Args& args, api::JobSpec& spec) {
  api::SecuritySettings& security = spec.security;
  security.privileged = args.has("privileged");
  security.readOnlyRoot = args.has("read-only");
  security.addCapabilities = args.all("cap-add");
  security.dropCapabilities = args.all("cap-drop");
  for (const std::string& option : args.all("security-opt"))
    if (Status set = set_security_option(option, security); !set.ok())
      return at_flag("security-opt", std::move(set).error());
  std::string pid = args.text("pid"), ipc = args.text("ipc", "private");
  if (!pid.empty() && pid != "host")
    return error(Code::kInvalid, cat(quoted(pid), " is not offered: a job's processes are its own"),
                 Args::label("pid"));
  security.hostPid = pid == "host";
  if (ipc != "private" && ipc != "host")
    return error(Code::kInvalid, cat(quoted(ipc), " is not offered: a job's memory is its own"),
                 Args::label("ipc"), "use private, or --shm-size for more of it");
  security.hostIpc = ipc == "host";
  TRY_STATUS(with_value(args, "device", parse_device, [&](api::DeviceMapping device) {
    spec.devices.push_back(std::move(device));
  }));
  return with_value(args, "ulimit", parse_ulimit,
                    [&](api::Ulimit limit) { spec.ulimits.push_back(std::move(limit)); });
}

// --- Health, restarts

Status set_health(const Args& args, api::JobSpec& spec) {
  api::HealthCheck check;
  check.disabled = args.has("no-healthcheck");
  std::string command = args.text("health-cmd");
  if (command == "none") check.disabled = true;  // docker's word for it
  if (!command.empty() && !check.disabled) check.command = {"/bin/sh", "-c", command};
  if (args.has("no-healthcheck") && !command.empty())
    return error(Code::kInvalid, "another flag gives a check", Args::label("no-healthcheck"));
  TRY_STATUS(with_value(args, "health-interval", parse_duration,
                        [&](Millis span) { check.interval = span; }));
  TRY_STATUS(with_value(args, "health-timeout", parse_duration,
                        [&](Millis span) { check.timeout = span; }));
  TRY_STATUS(with_value(args, "health-start-period", parse_duration,
                        [&](Millis span) { check.startPeriod = span; }));
  TRY_STATUS(with_value(args, "health-start-interval", parse_duration,
                        [&](Millis span) { check.startInterval = span; }));
  TRY_STATUS(with_value(args, "health-retries", parse_integer,
                        [&](int64_t count) { check.retries = count; }));
  if (check != api::HealthCheck{}) spec.healthCheck = std::move(check);
  return Ok;
}

Status set_restart(const Args& args, RunPlan& plan) {
  std::string policy = args.text("restart", "no");
  if (policy == "no") return Ok;
  api::JobSpec& spec = plan.job.spec;
  if (plan.remove)
    return error(Code::kInvalid, "a job that is started again cannot be removed at its end",
                 Args::label("restart"), "leave out --rm");
  constexpr std::string_view kCounted = "on-failure:";
  spec.backoff = kRestartPause;
  if (policy == "always" || policy == "unless-stopped") {
    spec.restartPolicy = api::RestartPolicy::kAlways;
  } else if (policy == "on-failure") {
    spec.restartPolicy = api::RestartPolicy::kOnFailure;
  } else if (policy.starts_with(kCounted)) {
    auto count = parse_integer(std::string_view(policy).substr(kCounted.size()));
    if (!count.ok()) return at_flag("restart", std::move(count).error());
    spec.retries = *count;
    if (*count == 0) spec.restartPolicy = api::RestartPolicy::kOnFailure;  // docker: no limit
  } else {
    return error(Code::kInvalid, cat(quoted(policy), " is no policy"), Args::label("restart"),
                 "use no, on-failure, on-failure:N, always or unless-stopped");
  }
  return Ok;
}

// --- Memory

Status set_swap(const Args& args, api::Resources& wanted) {
  std::string total = args.text("memory-swap");
  if (total.empty() || total == "0") return Ok;
  auto refuse = [](std::string what, std::string hint) {
    return error(Code::kInvalid, std::move(what), Args::label("memory-swap"), std::move(hint));
  };
  if (total == "-1") return refuse("swap without limit is not offered", "give a size");
  if (!wanted.memory) return refuse("is memory and swap together", "give --memory as well");
  auto size = parse_docker_memory(total);
  if (!size.ok()) return at_flag("memory-swap", std::move(size).error());
  if (*size < *wanted.memory) return refuse("is less than --memory", "it counts both together");
  if (*size > *wanted.memory) wanted.swap = *size - *wanted.memory;
  return Ok;
}

// --- Secrets

Result<api::SecretUse> parse_secret(std::string_view text) {
  std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 3 || parts[2].empty())
    return error(Code::kInvalid, cat(quoted(text), " is not SECRET:KEY:TARGET"), {},
                 "the target is an environment variable, or a path for a file");
  api::SecretUse use{.secret = parts[0], .key = parts[1]};
  (parts[2].starts_with('/') ? use.path : use.name) = parts[2];
  return use;
}

Flag many(Flag flag) {
  flag.many = true;
  return flag;
}
Flag of_spec(std::string name, char letter, std::string value, std::string_view path) {
  return {
      .name = std::move(name), .letter = letter, .value = std::move(value), .doc = spec_doc(path)};
}

}  // namespace

std::vector<Flag> container_flags() {
  return {
      many(of_spec("tmpfs", 0, "PATH[:OPTIONS]", "tmpfs")),
      many(of_spec("group-add", 0, "GROUP", "groups")),
      of_spec("init", 0, "", "init"),
      of_spec("network", 0, "bridge|none|host", "network.mode"),
      {.name = "net", .value = "bridge|none|host", .doc = "The same as --network."},
      many(of_spec("publish", 'p', "[ADDRESS:][HOST_PORT:]PORT", "ports")),
      of_spec("publish-all", 'P', "", "publishAll"),
      of_spec("hostname", 'h', "NAME", "network.hostname"),
      many(of_spec("add-host", 0, "NAME:ADDRESS", "network.hosts")),
      many(of_spec("dns", 0, "ADDRESS", "network.nameServers")),
      many(of_spec("dns-search", 0, "DOMAIN", "network.searchDomains")),
      many(of_spec("dns-option", 0, "OPTION", "network.resolverOptions")),
      many({.name = "dns-opt", .value = "OPTION", .doc = "The same as --dns-option."}),
      of_spec("read-only", 0, "", "security.readOnlyRoot"),
      many(of_spec("cap-add", 0, "CAPABILITY", "security.addCapabilities")),
      many(of_spec("cap-drop", 0, "CAPABILITY", "security.dropCapabilities")),
      many({.name = "security-opt",
            .value = "OPTION",
            .doc = "seccomp=unconfined where the project allows it; no-new-privileges is always "
                   "so."}),
      of_spec("privileged", 0, "", "security.privileged"),
      of_spec("pid", 0, "host", "security.hostPid"),
      {.name = "ipc", .value = "private|host", .doc = cat("host: ", spec_doc("security.hostIpc"))},
      many(of_spec("device", 0, "PATH[:TARGET[:rwm]]", "devices")),
      many(of_spec("ulimit", 0, "NAME=SOFT[:HARD]", "ulimits")),
      {.name = "memory-swap",
       .value = "SIZE",
       .doc = "Memory and swap together; no swap when not given."},
      of_spec("cpuset-cpus", 0, "CPUS", "resources.cpuset"),
      of_spec("health-cmd", 0, "COMMAND", "healthCheck.command"),
      of_spec("health-interval", 0, "TIME", "healthCheck.interval"),
      of_spec("health-timeout", 0, "TIME", "healthCheck.timeout"),
      of_spec("health-retries", 0, "N", "healthCheck.retries"),
      of_spec("health-start-period", 0, "TIME", "healthCheck.startPeriod"),
      of_spec("health-start-interval", 0, "TIME", "healthCheck.startInterval"),
      of_spec("no-healthcheck", 0, "", "healthCheck.disabled"),
      {.name = "restart",
       .value = "POLICY",
       .doc = "no, on-failure, on-failure:N, always or unless-stopped. A job that was stopped "
              "stays stopped, under each of them; else it outlives restarts of the server and of "
              "the node."},
      {.name = "cidfile",
       .value = "FILE",
       .doc = "Write the job's name to a file that does not exist yet."},
      of_spec("platform", 0, "PLATFORM", "platform"),
      detach_keys_flag(),
  };
}

Flag detach_keys_flag() {
  return {.name = "detach-keys",
          .value = "KEYS",
          .doc =
              "Keys that let go of a terminal's program, which goes on; ctrl-p,ctrl-q when not "
              "given."};
}

Status set_container(const Args& args, RunPlan& plan) {
  api::JobSpec& spec = plan.job.spec;
  spec.groups = args.all("group-add");
  spec.init = args.has("init");
  spec.platform = args.text("platform");
  spec.publishAll = args.has("publish-all");
  spec.resources.cpuset = args.text("cpuset-cpus");
  plan.cidfile = args.text("cidfile");
  TRY_STATUS(set_network(args, plan));
  TRY_STATUS(with_value(args, "publish", parse_publish, [&](std::vector<api::Port> ports) {
    spec.ports.insert(spec.ports.end(), ports.begin(), ports.end());
  }));
  bool quiet_ports = std::any_of(spec.ports.begin(), spec.ports.end(),
                                 [](const api::Port& port) { return port.hostAddress.empty(); });
  if (quiet_ports)
    plan.notes.push_back(
        "ports are published on 127.0.0.1 of the node; -p 0.0.0.0:PORT:PORT opens one to others");
  TRY_STATUS(with_value(args, "tmpfs", parse_tmpfs,
                        [&](api::TmpfsMount mount) { spec.tmpfs.push_back(std::move(mount)); }));
  TRY_STATUS(with_value(args, "secret", parse_secret,
                        [&](api::SecretUse use) { spec.secrets.push_back(std::move(use)); }));
  TRY_STATUS(set_rights(args, spec));
  TRY_STATUS(set_swap(args, spec.resources));
  TRY_STATUS(set_health(args, spec));
  TRY_STATUS(with_value(args, "detach-keys", parse_detach_keys,
                        [&](std::string keys) { plan.detach_keys = std::move(keys); }));
  return set_restart(args, plan);
}

Result<std::vector<api::Port>> parse_publish(std::string_view text) {
  if (text.find('[') != std::string_view::npos)
    return error(Code::kInvalid, cat(quoted(text), " has an IPv6 address: only IPv4 is offered"));
  size_t slash = text.find('/');
  std::string protocol = slash == std::string_view::npos ? "tcp" : lower(text.substr(slash + 1));
  if (protocol != "tcp" && protocol != "udp")
    return error(Code::kInvalid, cat("protocol ", quoted(protocol), " is not offered"), {},
                 "use tcp or udp");
  std::vector<std::string> parts = split(text.substr(0, slash), ':');
  if (parts.size() > 3) return error(Code::kInvalid, cat(quoted(text), " has too many parts"));
  TRY(PortRange inside, parse_port_range(parts.back()));
  std::string host = parts.size() > 1 ? parts[parts.size() - 2] : "";
  PortRange outside;
  if (!host.empty()) {
    TRY(outside, parse_port_range(host));
    if (outside.last - outside.first != inside.last - inside.first)
      return error(Code::kInvalid, cat("the ranges of ", quoted(text), " differ in length"));
  }
  std::vector<api::Port> out;
  for (int64_t i = 0; i <= inside.last - inside.first; ++i)
    out.push_back({.port = inside.first + i,
                   .hostPort = host.empty() ? 0 : outside.first + i,
                   .hostAddress = parts.size() == 3 ? parts[0] : "",
                   .protocol = protocol == "udp" ? api::Protocol::kUdp : api::Protocol::kTcp});
  return out;
}

Result<api::TmpfsMount> parse_tmpfs(std::string_view text) {
  size_t colon = text.find(':');
  api::TmpfsMount out{.target = std::string(text.substr(0, colon))};
  if (colon == std::string_view::npos) return out;
  for (const std::string& option : split(text.substr(colon + 1), ',')) {
    size_t equals = option.find('=');
    std::string key = option.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
    if (key == "size") {
      TRY(MiB size, parse_docker_memory(value));
      out.size = size;
    } else if (key == "mode") {
      TRY(out.mode, parse_mode(value));
    } else if (key == "exec") {
      out.executable = true;
    } else if (key == "noexec") {
      out.executable = false;
    } else if (key != "rw" && key != "nosuid" && key != "nodev" && key != "noatime") {
      return error(Code::kInvalid, cat("option ", quoted(option), " is not offered"), {},
                   "options are size, mode, exec and noexec");
    }
  }
  return out;
}

Result<int64_t> parse_mode(std::string_view text) {
  int64_t mode = 0;
  bool octal = !text.empty() && text.size() <= 5;
  for (char c : text) {
    octal = octal && c >= '0' && c <= '7';
    mode = mode * 8 + (c - '0');
  }
  if (octal) return mode;
  return error(Code::kInvalid, cat(quoted(text), " is no mode"), {}, "write it in octal: 1777");
}

Result<std::string> parse_detach_keys(std::string_view text) {
  std::string out;
  for (const std::string& key : split(text, ',')) {
    constexpr std::string_view kCtrl = "ctrl-";
    std::string_view letter =
        key.starts_with(kCtrl) ? std::string_view(key).substr(kCtrl.size()) : std::string_view(key);
    bool control = letter.size() != key.size();
    char c = letter.size() == 1 ? letter[0] : '\0';
    if (control && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    bool known = control ? c >= '@' && c <= '_' : c > ' ';
    if (!known)
      return error(Code::kInvalid, cat(quoted(key), " is no key"), {},
                   "write letters and ctrl-LETTER with commas between, like ctrl-p,ctrl-q");
    out += control ? static_cast<char>(c - '@') : c;
  }
  return out;
}

}  // namespace tessera::cli
