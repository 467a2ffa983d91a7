#include "engine/local/spec.h"

#include <algorithm>

#include "base/text.h"
#include "engine/local/seccomp.h"

namespace tessera::local {

namespace {

using Map = Value::Map;
using List = Value::List;

// Docker's, without MKNOD (devices come as allocated) and NET_RAW (it forges packets on the bridge
// that a project's containers share; a ping of this century works without).
constexpr std::string_view kCapabilities[] = {
    "CAP_AUDIT_WRITE", "CAP_CHOWN",   "CAP_DAC_OVERRIDE",     "CAP_FOWNER",
    "CAP_FSETID",      "CAP_KILL",    "CAP_NET_BIND_SERVICE", "CAP_SETFCAP",
    "CAP_SETGID",      "CAP_SETPCAP", "CAP_SETUID",           "CAP_SYS_CHROOT",
};
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

// A program that opens more than this at once asks for more itself, up to the hard limit. Higher
// soft limits break old programs that close every possible descriptor.
constexpr int64_t kSoftOpenFiles = 65'536;
constexpr int64_t kHardOpenFiles = 1'048'576;

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
  List out;
  out.push_back(mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}));
  out.push_back(
      mount("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}));
  out.push_back(mount("/dev/pts", "devpts", "devpts",
                      {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}));
  out.push_back(mount("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "ro"}));
  out.push_back(
      mount("/sys/fs/cgroup", "cgroup", "cgroup", {"nosuid", "noexec", "nodev", "relatime", "ro"}));
  out.push_back(mount("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}));
  out.push_back(
      mount("/dev/shm", "tmpfs", "shm",
            {"nosuid", "noexec", "nodev", "mode=1777", cat("size=", input.launch.shm.value, "m")}));
  for (std::string_view name : {"hosts", "hostname", "resolv.conf"})
    out.push_back(
        mount(cat("/etc/", name), "bind", cat(input.etc_folder, "/", name), {"rbind", "rprivate"}));
  if (!input.launch.gang.tasks.empty())
    out.push_back(mount("/etc/tessera/hostfile", "bind", cat(input.etc_folder, "/hostfile"),
                        {"rbind", "rprivate", "ro"}));
  return out;
}

Value mounts(const SpecInput& input) {
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
  // Users' last: one may lie inside another's target, so shorter targets first.
  std::vector<BoundVolume> volumes = input.volumes;
  std::stable_sort(volumes.begin(), volumes.end(), [](const auto& a, const auto& b) {
    return std::count(a.target.begin(), a.target.end(), '/') <
           std::count(b.target.begin(), b.target.end(), '/');
  });
  for (const BoundVolume& volume : volumes)
    out.push_back(mount(volume.target, "bind", volume.source,
                        {"rbind", "rprivate", "nosuid", "nodev",
                         !volume.read_only                ? "rw"
                         : input.host.recursive_read_only ? "rro"
                                                          : "ro"}));
  return out;
}

Value capabilities() {
  Value all = strings(kCapabilities);
  return Map{{"bounding", all}, {"effective", all}, {"permitted", all}};
}

Value user_value(const User& user, const std::vector<int64_t>& more_groups) {
  std::vector<int64_t> groups = user.groups;
  for (int64_t gid : more_groups)
    if (std::find(groups.begin(), groups.end(), gid) == groups.end()) groups.push_back(gid);
  return Map{{"uid", user.uid}, {"gid", user.gid}, {"additionalGids", numbers(groups)}};
}

Value rlimit(std::string_view type, int64_t soft, int64_t hard) {
  return Map{{"type", type}, {"soft", std::min(soft, hard)}, {"hard", hard}};
}

Value process(const SpecInput& input, const std::vector<std::string>& argv) {
  const engine::Launch& launch = input.launch;
  std::string folder = launch.working_dir.empty() ? input.image.working_dir : launch.working_dir;
  int64_t open_files = std::min(kHardOpenFiles, input.host.open_files);
  Value out = Map{
      {"terminal", launch.tty},
      {"user", user_value(input.user, input.edits.additionalGids)},
      {"args", strings(argv)},
      {"env", strings(make_environment(input))},
      {"cwd", folder.empty() ? "/" : folder},
      {"capabilities", capabilities()},
      {"rlimits", List{rlimit("RLIMIT_NOFILE", kSoftOpenFiles, open_files),
                       // Buffers of RDMA and of GPUs are locked; the memory limit counts them.
                       rlimit("RLIMIT_MEMLOCK", input.host.locked_bytes, input.host.locked_bytes)}},
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
    if (input.host.swap_limit) memory.set("swap", bytes);  // memory and swap together
    out.set("memory", std::move(memory));
  }
  if (launch.cpus.value > 0) {
    Value cpu = Map{{"shares", std::max(kLeastShares, launch.cpus.value * 1024 / 1000)}};
    if (input.host.cpu_quota) {
      cpu.set("period", kCpuPeriodUs);
      cpu.set("quota", std::max(kLeastQuotaUs, launch.cpus.value * kCpuPeriodUs / 1000));
    }
    out.set("cpu", std::move(cpu));
  }
  if (launch.pids > 0) out.set("pids", Map{{"limit", launch.pids}});
  return out;
}

Value namespaces(const SpecInput& input) {
  List out;
  for (std::string_view type : {"pid", "ipc", "uts", "mount"}) out.push_back(Map{{"type", type}});
  out.push_back(Map{{"type", "network"}, {"path", input.netns_path}});
  if (input.host.cgroup_v2) out.push_back(Map{{"type", "cgroup"}});  // as docker does
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
  TRY(auto argv, make_argv(input.launch, input.image));
  Value linux_part =
      Map{{"cgroupsPath", input.cgroups_path},    {"namespaces", namespaces(input)},
          {"resources", resources(input)},        {"devices", devices(input.edits.deviceNodes)},
          {"maskedPaths", strings(kMaskedPaths)}, {"readonlyPaths", strings(kReadOnlyPaths)},
          {"seccomp", seccomp_profile()}};
  Value out = Map{{"ociVersion", "1.0.2"},
                  {"process", process(input, argv)},
                  {"root", Map{{"path", "rootfs"}, {"readonly", false}}},
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
