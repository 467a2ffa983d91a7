#include "engine/local/spec.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "engine/local/rights.h"
#include "engine/local/seccomp.h"

namespace tessera::local {

namespace {

using Map = Value::Map;
using List = Value::List;

constexpr std::string_view kMaskedPaths[] = {
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
};
constexpr std::string_view kReadOnlyPaths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                               "/proc/sysrq-trigger"};

// Where the init is seen inside: not among the image's files.
constexpr std::string_view kInitPath = "/dev/init";

constexpr int64_t kCpuPeriodUs = 100'000;
constexpr int64_t kLeastQuotaUs = 1'000;  // the kernel's
constexpr int64_t kLeastShares = 2;       // the kernel's

template <class Range>
Value strings(const Range& range) {
  List out;
  for (const auto& text : range) out.emplace_back(std::string_view(text));
  return out;
}
Value numbers(const std::vector<int64_t>& range) {
  List out;
  for (int64_t number : range) out.emplace_back(number);
  return out;
}

Value mount(std::string_view target, std::string_view type, std::string_view source,
            std::vector<std::string> options) {
  return Map{
      {"destination", target}, {"type", type}, {"source", source}, {"options", strings(options)}};
}

List system_mounts(const SpecInput& input) {
  const api::SecuritySettings& security = input.launch.security;
  List out;
  out.push_back(mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}));
  out.push_back(
      mount("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}));
  out.push_back(mount("/dev/pts", "devpts", "devpts",
                      {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}));
  out.push_back(mount("/sys", "sysfs", "sysfs",
                      {"nosuid", "noexec", "nodev", security.privileged ? "rw" : "ro"}));
  out.push_back(
      mount("/sys/fs/cgroup", "cgroup", "cgroup", {"nosuid", "noexec", "nodev", "relatime", "ro"}));
  // Of the node's own IPC namespace where the container shares that.
  out.push_back(mount("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}));
  if (security.hostIpc)
    out.push_back(
        mount("/dev/shm", "bind", "/dev/shm", {"rbind", "rprivate", "nosuid", "noexec", "nodev"}));
  else
    out.push_back(mount(
        "/dev/shm", "tmpfs", "shm",
        {"nosuid", "noexec", "nodev", "mode=1777", cat("size=", input.launch.shm.value, "m")}));
  if (input.launch.init)
    out.push_back(mount(kInitPath, "bind", input.init_program, {"bind", "rprivate", "ro"}));
  for (std::string_view name : {"hosts", "hostname", "resolv.conf"})
    out.push_back(
        mount(cat("/etc/", name), "bind", cat(input.etc_folder, "/", name), {"rbind", "rprivate"}));
  if (!input.launch.gang.tasks.empty())
    out.push_back(mount("/etc/tessera/hostfile", "bind", cat(input.etc_folder, "/hostfile"),
                        {"rbind", "rprivate", "ro"}));
  return out;
}

Value volume_mount(const BoundVolume& volume, bool recursive_read_only) {
  return mount(volume.target, "bind", volume.source,
               {"rbind", "rprivate", "nosuid", "nodev",
                !volume.read_only     ? "rw"
                : recursive_read_only ? "rro"
                                      : "ro"});
}

Value tmpfs_mount(const api::TmpfsMount& wanted) {
  char mode[8];
  std::snprintf(mode, sizeof mode, "%o", static_cast<unsigned>(wanted.mode));
  std::vector<std::string> options = {"nosuid", "nodev", cat("mode=", mode)};
  if (!wanted.executable) options.emplace_back("noexec");
  if (wanted.size) options.push_back(cat("size=", wanted.size->value, "m"));
  return mount(wanted.target, "tmpfs", "tmpfs", std::move(options));
}

// Last of all mounts; one may lie inside another's target, so shorter targets first.
List user_mounts(const SpecInput& input) {
  List out;
  for (const BoundVolume& volume : input.volumes)
    out.push_back(volume_mount(volume, input.host.recursive_read_only));
  for (const api::TmpfsMount& wanted : input.launch.tmpfs) out.push_back(tmpfs_mount(wanted));
  for (const BoundVolume& secret : input.secrets)
    out.push_back(mount(secret.target, "bind", secret.source,
                        {"bind", "rprivate", "nosuid", "nodev", "noexec", "ro"}));
  auto depth = [](const Value& mount) {
    std::string target = mount.text("destination");
    return std::count(target.begin(), target.end(), '/');
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const Value& a, const Value& b) { return depth(a) < depth(b); });
  return out;
}

List mounts(const SpecInput& input) {
  List out = system_mounts(input);
  for (const accel::cdi::Mount& edit : input.edits.mounts) {
    std::vector<std::string> options = edit.options;
    bool is_bind = edit.type.empty() || edit.type == "bind";
    // CDI takes it for granted, runc does not.
    if (is_bind && !std::count(options.begin(), options.end(), "rbind") &&
        !std::count(options.begin(), options.end(), "bind"))
      options.insert(options.begin(), "rbind");
    out.push_back(
        mount(edit.containerPath, is_bind ? "bind" : edit.type, edit.hostPath, std::move(options)));
  }
  for (Value& user_mount : user_mounts(input)) out.push_back(std::move(user_mount));
  return out;
}

Value capabilities(const std::set<std::string>& names) {
  List list;
  for (const std::string& name : names) list.emplace_back(cat("CAP_", name));
  Value all = std::move(list);
  return Map{{"bounding", all}, {"effective", all}, {"permitted", all}};
}

Value user_value(const User& user, const std::vector<int64_t>& more_groups) {
  std::vector<int64_t> groups = user.groups;
  for (int64_t gid : more_groups)
    if (std::find(groups.begin(), groups.end(), gid) == groups.end()) groups.push_back(gid);
  return Map{{"uid", user.uid}, {"gid", user.gid}, {"additionalGids", numbers(groups)}};
}

Result<Value> process(const SpecInput& input, const std::vector<std::string>& argv,
                      const std::set<std::string>& rights) {
  const engine::Launch& launch = input.launch;
  TRY(Value limits, rlimits_of(launch.ulimits, input.host));
  std::string folder = launch.working_dir.empty() ? input.image.working_dir : launch.working_dir;
  Value out = Map{{"terminal", launch.tty},
                  {"user", user_value(input.user, input.edits.additionalGids)},
                  {"args", strings(argv)},
                  {"env", strings(make_environment(input))},
                  {"cwd", folder.empty() ? "/" : folder},
                  {"capabilities", capabilities(rights)},
                  {"rlimits", std::move(limits)},
                  {"noNewPrivileges", true}};
  // Never below the own one, which needs a right that we may lack; but a container is no part of
  // the system that is to survive.
  if (input.host.oom_score_adj < 0) out.set("oomScoreAdj", int64_t{0});
  return out;
}

Value device_rule(bool allow, std::string_view type, std::optional<int64_t> major,
                  std::optional<int64_t> minor, std::string_view access) {
  Value out = Map{{"allow", allow}, {"access", access}};
  if (!type.empty()) out.set("type", type);
  if (major) out.set("major", *major);
  if (minor) out.set("minor", *minor);
  return out;
}

// Nothing, then docker's few (null, zero, full, random, urandom, tty, console, the pseudo
// terminals), then what was allocated.
Value device_rules(const std::vector<accel::cdi::DeviceNode>& nodes) {
  List out{device_rule(false, {}, {}, {}, "rwm")};
  for (int64_t minor : {3, 5, 7, 8, 9}) out.push_back(device_rule(true, "c", 1, minor, "rwm"));
  for (int64_t minor : {0, 1, 2}) out.push_back(device_rule(true, "c", 5, minor, "rwm"));
  out.push_back(device_rule(true, "c", 136, {}, "rwm"));
  for (const accel::cdi::DeviceNode& node : nodes)
    if (!node.permissions.empty() && node.type != "p")
      out.push_back(device_rule(true, node.type == "u" ? "c" : node.type, node.major, node.minor,
                                node.permissions));
  return out;
}

Value devices(const std::vector<accel::cdi::DeviceNode>& nodes) {
  List out;
  for (const accel::cdi::DeviceNode& node : nodes) {
    Value device = Map{{"path", node.path}, {"type", node.type}};
    if (node.type != "p") {
      device.set("major", node.major);
      device.set("minor", node.minor);
    }
    if (node.fileMode) device.set("fileMode", *node.fileMode & 0777);
    if (node.uid) device.set("uid", *node.uid);
    if (node.gid) device.set("gid", *node.gid);
    out.push_back(std::move(device));
  }
  return out;
}

Value resources(const SpecInput& input) {
  const engine::Launch& launch = input.launch;
  Value out = Map{{"devices", device_rules(input.edits.deviceNodes)}};
  if (launch.memory.value > 0) {
    int64_t bytes = launch.memory.value << 20;
    Value memory = Map{{"limit", bytes}};
    // Memory and swap together.
    if (input.host.cgroups.swap_limit) memory.set("swap", bytes + (launch.swap.value << 20));
    out.set("memory", std::move(memory));
  }
  if (launch.cpus.value > 0) {
    Value cpu = Map{{"shares", std::max(kLeastShares, launch.cpus.value * 1024 / 1000)}};
    if (input.host.cgroups.cpu_quota) {
      cpu.set("period", kCpuPeriodUs);
      cpu.set("quota", std::max(kLeastQuotaUs, launch.cpus.value * kCpuPeriodUs / 1000));
    }
    if (!launch.cpuset.empty()) cpu.set("cpus", launch.cpuset);
    out.set("cpu", std::move(cpu));
  }
  if (launch.pids > 0) out.set("pids", Map{{"limit", launch.pids}});
  return out;
}

Value namespaces(const SpecInput& input) {
  List out;
  const api::SecuritySettings& security = input.launch.security;
  for (std::string_view type : {"uts", "mount"}) out.push_back(Map{{"type", type}});
  if (!security.hostPid) out.push_back(Map{{"type", "pid"}});
  if (!security.hostIpc) out.push_back(Map{{"type", "ipc"}});
  if (!input.netns_path.empty())
    out.push_back(Map{{"type", "network"}, {"path", input.netns_path}});
  if (input.host.cgroups.v2()) out.push_back(Map{{"type", "cgroup"}});  // as docker does
  return out;
}

Value hooks(const std::vector<accel::cdi::Hook>& hooks) {
  Value out = Map{};
  for (const accel::cdi::Hook& hook : hooks) {
    Value one = Map{{"path", hook.path}, {"args", strings(hook.args)}, {"env", strings(hook.env)}};
    if (hook.timeout) one.set("timeout", *hook.timeout);
    List list;
    if (const Value* before = out.find(hook.hookName)) list = *before->list();
    list.push_back(std::move(one));
    out.set(hook.hookName, std::move(list));
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> make_argv(const engine::Launch& launch, const ImageConfig& image) {
  std::vector<std::string> argv = launch.command.empty() ? image.entrypoint : launch.command;
  const std::vector<std::string>& rest =
      launch.command.empty() && launch.args.empty() ? image.cmd : launch.args;
  argv.insert(argv.end(), rest.begin(), rest.end());
  if (argv.empty() || argv[0].empty())
    return error(Code::kInvalid, cat("image ", launch.image, " names no program to run"), {},
                 "give the job a command");
  return argv;
}

Result<Value> make_spec(const SpecInput& input) {
  const engine::Launch& launch = input.launch;
  const api::SecuritySettings& security = launch.security;
  TRY(auto argv, make_argv(launch, input.image));
  if (launch.init) {
    // Signals go on to the program's whole process group (D10). Where it is not process 1 it has
    // to ask for the orphans.
    std::vector<std::string> init = {std::string(kInitPath), "-g"};
    if (security.hostPid) init.emplace_back("-s");
    init.emplace_back("--");
    argv.insert(argv.begin(), init.begin(), init.end());
  }
  TRY(std::set<std::string> rights, capabilities_of(security, input.host));
  if (launch.swap.value > 0 && !input.host.cgroups.swap_limit)
    return error(Code::kInvalid, "this node's kernel cannot limit swap", "spec.resources.swap",
                 "leave it out (--memory-swap)");
  TRY(Value first, process(input, argv, rights));
  Value linux_part = Map{{"cgroupsPath", input.cgroups_path},
                         {"namespaces", namespaces(input)},
                         {"resources", resources(input)},
                         {"devices", devices(input.edits.deviceNodes)}};
  if (!security.privileged) {
    linux_part.set("maskedPaths", strings(kMaskedPaths));
    linux_part.set("readonlyPaths", strings(kReadOnlyPaths));
    if (!security.unconfined) linux_part.set("seccomp", seccomp_profile(rights));
  }
  Value out = Map{{"ociVersion", "1.0.2"},
                  {"process", std::move(first)},
                  {"root", Map{{"path", "rootfs"}, {"readonly", security.readOnlyRoot}}},
                  {"hostname", input.host_name},
                  {"mounts", mounts(input)},
                  {"linux", std::move(linux_part)}};
  if (!input.edits.hooks.empty()) out.set("hooks", hooks(input.edits.hooks));
  return out;
}

Value make_exec_process(const Value& container_spec, const engine::ExecRequest& request,
                        const std::optional<User>& user) {
  const Value* found = container_spec.find("process");
  Value out = found ? *found : Value(Map{});
  std::vector<std::string> names;
  List env;
  if (const Value* inherited = out.find("env"); inherited && inherited->list())
    for (const Value& entry : *inherited->list())
      if (entry.string() &&
          !request.env.contains(entry.string()->substr(0, entry.string()->find('='))))
        env.push_back(entry);
  for (const auto& [name, value] : request.env) env.emplace_back(cat(name, "=", value));
  if (request.tty && !request.env.contains("TERM")) env.emplace_back("TERM=xterm");
  out.set("env", std::move(env));
  out.set("args", strings(request.argv));
  out.set("terminal", request.tty);
  if (request.tty && request.rows > 0 && request.columns > 0)
    out.set("consoleSize",
            Map{{"height", int64_t{request.rows}}, {"width", int64_t{request.columns}}});
  if (!request.working_dir.empty()) out.set("cwd", request.working_dir);
  if (user) out.set("user", user_value(*user, {}));
  return out;
}

}  // namespace tessera::local
