#include "engine/local/spec.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/validate.h"
#include "base/text.h"
#include "engine/local/seccomp.h"

namespace tessera::local {

namespace {

// A launch with everything, and what a test changes of it.
struct Case {
  engine::Launch launch{.ref = {"uid-0", 3},
                        .project = "vision",
                        .job = "train",
                        .index = 2,
                        .image = "cuda:12",
                        .cpus = MilliCpu{1500},
                        .memory = MiB{2048},
                        .shm = MiB{1024},
                        .pids = 100};
  ImageConfig image{.env = {"NVIDIA_VISIBLE_DEVICES=all", "A=image", "PATH=/image/bin"},
                    .entrypoint = {"/entry"},
                    .cmd = {"default", "words"},
                    .working_dir = "/work"};
  User user{.uid = 1000, .gid = 1000, .groups = {7}, .home = "/home/app"};
  accel::cdi::ContainerEdits edits;
  std::vector<BoundVolume> volumes;
  HostLimits host{.cgroups = {.swap_limit = true, .cpu_quota = true},
                  .hard_limits = {{"nofile", 20'000}}};

  SpecInput input() const {
    return {.launch = launch,
            .image = image,
            .user = user,
            .edits = edits,
            .volumes = volumes,
            .host_name = "train-2",
            .netns_path = "/run/ns",
            .cgroups_path = "/tessera/x",
            .etc_folder = "/state/x",
            .host = host};
  }
  Value spec() const {
    auto made = make_spec(input());
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : Value();
  }
  std::string env(std::string_view name) const {
    std::string out = "(unset)";
    int times = 0;
    for (const std::string& entry : make_environment(input()))
      if (entry.starts_with(cat(name, "="))) {
        out = entry.substr(name.size() + 1);
        ++times;
      }
    EXPECT_LE(times, 1) << name;
    return out;
  }
};

const Value& at(const Value& from, std::vector<std::string_view> keys) {
  static const Value kNothing;
  const Value* value = &from;
  for (std::string_view key : keys) value = value ? value->find(key) : nullptr;
  EXPECT_NE(value, nullptr) << keys.back();
  return value ? *value : kNothing;
}
int64_t number(const Value& from, std::vector<std::string_view> keys) {
  const int64_t* found = at(from, std::move(keys)).integer();
  return found ? *found : -1;
}
std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : *list.list()) out.push_back(item.string() ? *item.string() : "?");
  return out;
}
const Value* mount_at(const Value& spec, std::string_view target) {
  for (const Value& mount : *at(spec, {"mounts"}).list())
    if (mount.text("destination") == target) return &mount;
  return nullptr;
}
std::vector<std::string> options_at(const Value& spec, std::string_view target) {
  const Value* mount = mount_at(spec, target);
  EXPECT_NE(mount, nullptr) << target;
  return mount ? texts(*mount->find("options")) : std::vector<std::string>{};
}
bool has(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

TEST(Argv, FollowsDocker) {
  using Words = std::vector<std::string>;
  struct Row {
    Words command, args, expected;
  };
  for (const Row& row :
       {Row{{}, {}, {"/entry", "default", "words"}}, Row{{}, {"mine"}, {"/entry", "mine"}},
        Row{{"run"}, {}, {"run"}}, Row{{"run"}, {"mine"}, {"run", "mine"}}}) {
    Case with;
    with.launch.command = row.command;
    with.launch.args = row.args;
    auto argv = make_argv(with.launch, with.image);
    ASSERT_TRUE(argv.ok());
    EXPECT_EQ(*argv, row.expected);
  }
  auto nothing = make_argv({.image = "empty"}, {});
  ASSERT_FALSE(nothing.ok());
  EXPECT_NE(nothing.error().text().find("image empty names no program"), std::string::npos);
}

TEST(Environment, LastWinsAndOwnStays) {
  Case with;
  with.launch.env = {{"A", "job"}, {"NVIDIA_VISIBLE_DEVICES", "all"}, {"TESSERA_JOB", "forged"}};
  EXPECT_EQ(with.env("A"), "job");
  EXPECT_EQ(with.env("PATH"), "/image/bin");
  EXPECT_EQ(with.env("HOME"), "/home/app");
  EXPECT_EQ(with.env("NVIDIA_VISIBLE_DEVICES"), "void") << "no request, no device (A4)";
  EXPECT_EQ(with.env("CUDA_DEVICE_ORDER"), "(unset)");
  EXPECT_EQ(with.env("TESSERA_JOB"), "train");
  EXPECT_EQ(with.env("TESSERA_PROJECT"), "vision");
  EXPECT_EQ(with.env("TESSERA_INDEX"), "2");
  EXPECT_EQ(with.env("TESSERA_ATTEMPT"), "3");
  EXPECT_EQ(with.env("TESSERA_ACCELERATORS"), "");
  EXPECT_EQ(with.env("TERM"), "(unset)");
}

TEST(Environment, TellsOfDevices) {
  Case with;
  with.launch.allocations = {{"GPU-a", false, MiB{1024}, Percent{30}},
                             {"GPU-b", true, MiB{81920}, Percent{100}}};
  with.edits.env = {"VENDOR=yes", "NVIDIA_VISIBLE_DEVICES=GPU-a"};
  EXPECT_EQ(with.env("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(with.env("NVIDIA_VISIBLE_DEVICES"), "void");
  EXPECT_EQ(with.env("VENDOR"), "yes");
  EXPECT_EQ(with.env("TESSERA_ACCELERATORS"), "GPU-a,GPU-b");
  EXPECT_EQ(with.env("TESSERA_ACCELERATOR_MEMORY_MIB"), "1024,81920");
  EXPECT_EQ(with.env("TESSERA_ACCELERATOR_COMPUTE_PERCENT"), "30,100");
}

TEST(Spec, Limits) {
  Value spec = Case{}.spec();
  EXPECT_EQ(number(spec, {"linux", "resources", "cpu", "quota"}), 150'000);
  EXPECT_EQ(number(spec, {"linux", "resources", "cpu", "period"}), 100'000);
  EXPECT_EQ(number(spec, {"linux", "resources", "cpu", "shares"}), 1536);
  EXPECT_EQ(number(spec, {"linux", "resources", "memory", "limit"}), int64_t{2} << 30);
  EXPECT_EQ(number(spec, {"linux", "resources", "memory", "swap"}), int64_t{2} << 30);
  EXPECT_EQ(number(spec, {"linux", "resources", "pids", "limit"}), 100);
  EXPECT_TRUE(has(options_at(spec, "/dev/shm"), "size=1024m"));
  const Value& files = at(spec, {"process", "rlimits"}).list()->back();
  EXPECT_EQ(number(files, {"hard"}), 20'000) << "not above our own";
}

TEST(Spec, WhatTheKernelLacksIsNotAskedFor) {
  Case with;
  with.host = {};
  Value spec = with.spec();
  EXPECT_EQ(at(spec, {"linux", "resources", "cpu"}).find("quota"), nullptr);
  EXPECT_EQ(at(spec, {"linux", "resources", "memory"}).find("swap"), nullptr);
}

TEST(Spec, SafeByDefault) {
  Value spec = Case{}.spec();
  EXPECT_TRUE(*at(spec, {"process", "noNewPrivileges"}).boolean());
  for (const char* set : {"bounding", "effective", "permitted"}) {
    auto held = texts(at(spec, {"process", "capabilities", set}));
    for (const char* never : {"CAP_SYS_ADMIN", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SYS_PTRACE"})
      EXPECT_FALSE(has(held, never)) << never;
  }
  EXPECT_TRUE(has(texts(at(spec, {"linux", "maskedPaths"})), "/proc/kcore"));
  EXPECT_TRUE(has(texts(at(spec, {"linux", "readonlyPaths"})), "/proc/sys"));
  EXPECT_TRUE(has(options_at(spec, "/sys"), "ro"));
  bool own_network = false;
  for (const Value& space : *at(spec, {"linux", "namespaces"}).list())
    own_network =
        own_network || (space.text("type") == "network" && space.text("path") == "/run/ns");
  EXPECT_TRUE(own_network);
}

TEST(Spec, ProcessOfTheUser) {
  Case with;
  with.edits.additionalGids = {44, 7};
  Value spec = with.spec();
  EXPECT_EQ(number(spec, {"process", "user", "uid"}), 1000);
  EXPECT_EQ(at(spec, {"process", "user", "additionalGids"}),
            Value(Value::List{int64_t{7}, int64_t{44}}));
  EXPECT_EQ(spec.text("process", "cwd"), "/work");
  with.launch.working_dir = "/elsewhere";
  EXPECT_EQ(with.spec().text("process", "cwd"), "/elsewhere");
  EXPECT_EQ(at(with.spec(), {"process"}).find("oomScoreAdj"), nullptr);
  with.host.oom_score_adj = -500;
  EXPECT_EQ(number(with.spec(), {"process", "oomScoreAdj"}), 0);
}

TEST(Spec, ExactlyTheAllocatedDevices) {
  Case with;
  with.edits.deviceNodes = {{.path = "/dev/nvidia1",
                             .hostPath = "/dev/nvidia1",
                             .type = "c",
                             .major = 195,
                             .minor = 1,
                             .fileMode = 0666,
                             .permissions = "rw"},
                            {.path = "/dev/seen", .type = "c", .major = 9, .minor = 9}};
  Value spec = with.spec();
  const auto& rules = *at(spec, {"linux", "resources", "devices"}).list();
  EXPECT_FALSE(*rules.front().find("allow")->boolean()) << "first of all: nothing";
  EXPECT_EQ(rules.front().text("access"), "rwm");
  std::vector<std::string> allowed;
  for (const Value& rule : rules) {
    const Value* major = rule.find("major");
    if (!major || *major->integer() <= 5 || *major->integer() == 136) continue;  // docker's few
    allowed.push_back(cat(rule.text("type"), *major->integer(), ":", number(rule, {"minor"}),
                          rule.text("access")));
  }
  EXPECT_EQ(allowed, std::vector<std::string>{"c195:1rw"}) << "no permissions, no rule";
  ASSERT_EQ(at(spec, {"linux", "devices"}).list()->size(), 2u);
}

TEST(Spec, MountsOfDevicesAndVolumes) {
  Case with;
  with.edits.mounts = {{.hostPath = "/lib/a", .containerPath = "/lib/a", .options = {"ro"}}};
  with.volumes = {{"/pin/0", "/data/inner", true}, {"/pin/1", "/data", false}};
  Value spec = with.spec();
  EXPECT_EQ(options_at(spec, "/lib/a"), (std::vector<std::string>{"rbind", "ro"}));
  EXPECT_TRUE(has(options_at(spec, "/data/inner"), "ro"));
  EXPECT_TRUE(has(options_at(spec, "/data"), "rw"));
  EXPECT_LT(mount_at(spec, "/data"), mount_at(spec, "/data/inner")) << "the outer one first";
  with.host.recursive_read_only = true;
  EXPECT_TRUE(has(options_at(with.spec(), "/data/inner"), "rro"));
}

TEST(Spec, HooksByName) {
  Case with;
  with.edits.hooks = {{.hookName = "createContainer", .path = "/a"},
                      {.hookName = "createContainer", .path = "/b", .timeout = 5},
                      {.hookName = "poststop", .path = "/c"}};
  Value spec = with.spec();
  ASSERT_EQ(at(spec, {"hooks", "createContainer"}).list()->size(), 2u);
  EXPECT_EQ(number(at(spec, {"hooks", "createContainer"}).list()->at(1), {"timeout"}), 5);
  EXPECT_EQ(at(spec, {"hooks", "poststop"}).list()->size(), 1u);
}

TEST(ExecProcess, InheritsTheContainers) {
  Value container = Case{}.spec();
  engine::ExecRequest request{.task = "t", .argv = {"ls"}, .env = {{"A", "exec"}}, .tty = true};
  Value process = make_exec_process(container, request, std::nullopt);
  EXPECT_EQ(texts(at(process, {"args"})), std::vector<std::string>{"ls"});
  auto env = texts(at(process, {"env"}));
  EXPECT_TRUE(has(env, "A=exec") && has(env, "TERM=xterm") && has(env, "TESSERA_JOB=train"));
  EXPECT_FALSE(has(env, "A=image"));
  EXPECT_EQ(process.text("cwd"), "/work");
  EXPECT_EQ(number(process, {"user", "uid"}), 1000);
  EXPECT_TRUE(*at(process, {"noNewPrivileges"}).boolean());
  Value as_root = make_exec_process(container, request, User{});
  EXPECT_EQ(number(as_root, {"user", "uid"}), 0);
}

TEST(Spec, RightsBeyondAndBelow) {
  Case with;
  with.host.capabilities = ~uint64_t{0};
  auto bounding = [&] { return texts(at(with.spec(), {"process", "capabilities", "bounding"})); };
  EXPECT_FALSE(has(bounding(), "CAP_SYS_ADMIN"));
  with.launch.security.addCapabilities = {"sys_admin"};
  with.launch.security.dropCapabilities = {"CAP_CHOWN"};
  EXPECT_TRUE(has(bounding(), "CAP_SYS_ADMIN"));
  EXPECT_FALSE(has(bounding(), "CAP_CHOWN"));
  auto calls = [&] {
    std::vector<std::string> out;
    Value spec = with.spec();
    for (const Value& rule : *at(spec, {"linux", "seccomp", "syscalls"}).list())
      if (!rule.find("args"))
        for (const std::string& name : texts(*rule.find("names"))) out.push_back(name);
    return out;
  };
  EXPECT_TRUE(has(calls(), "mount")) << "else the capability is worth nothing";
  with.launch.security = {.dropCapabilities = {"ALL"}};
  EXPECT_TRUE(bounding().empty());
  with.launch.security = {
      .readOnlyRoot = true, .unconfined = true, .hostPid = true, .hostIpc = true};
  Value spec = with.spec();
  EXPECT_TRUE(*at(spec, {"root", "readonly"}).boolean());
  EXPECT_EQ(at(spec, {"linux"}).find("seccomp"), nullptr);
  EXPECT_NE(at(spec, {"linux"}).find("maskedPaths"), nullptr);
  for (const Value& one : *at(spec, {"linux", "namespaces"}).list()) {
    EXPECT_NE(one.text("type"), "pid");
    EXPECT_NE(one.text("type"), "ipc");
  }
  with.launch.security = {.privileged = true};
  EXPECT_EQ(at(with.spec(), {"linux"}).find("maskedPaths"), nullptr);
  EXPECT_EQ(bounding().size(), api::all_capabilities().size());
  EXPECT_EQ(at(with.spec(), {"linux", "devices"}).list()->size(), 0u) << "as allocated (A6)";

  with.host.capabilities = 0;
  with.launch.security = {.addCapabilities = {"SYS_TIME"}};
  auto refused = make_spec(with.input());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "this node cannot give the capability SYS_TIME");
}

TEST(Spec, UlimitsWithinWhatTheNodeCanGive) {
  Case with;
  with.launch.ulimits = {{"nofile", 100, 200}, {"core", -1, -1}};
  auto limits = *at(with.spec(), {"process", "rlimits"}).list();
  auto limit = [&](std::string_view type) {
    for (const Value& one : limits)
      if (one.text("type") == type) return std::pair(number(one, {"soft"}), number(one, {"hard"}));
    return std::pair(int64_t{-1}, int64_t{-1});
  };
  EXPECT_EQ(limit("RLIMIT_NOFILE"), std::pair(int64_t{100}, int64_t{200}));
  EXPECT_GT(limit("RLIMIT_CORE").first, int64_t{1} << 60);
  with.launch.ulimits = {{"nofile", 100, 30'000}};
  EXPECT_FALSE(make_spec(with.input()).ok());
  with.host.may_raise_limits = true;
  EXPECT_TRUE(make_spec(with.input()).ok());
}

TEST(Spec, AnInitStandsBeforeTheProgram) {
  Case with;
  with.launch.init = true;
  Value spec = with.spec();
  auto argv = texts(at(spec, {"process", "args"}));
  EXPECT_EQ(argv,
            (std::vector<std::string>{"/dev/init", "-g", "--", "/entry", "default", "words"}));
  EXPECT_NE(mount_at(spec, "/dev/init"), nullptr);
}

TEST(Spec, MountsInMemoryAndSecrets) {
  Case with;
  with.launch.tmpfs = {{"/run", MiB{64}, 0755, false}, {"/scratch", std::nullopt, 01777, true}};
  with.volumes = {{"/state/volumes/0", "/run/data", false}};
  BoundVolume secret{"/state/secrets/0", "/run/token", true};
  auto input = with.input();
  input.secrets = {secret};
  auto made = make_spec(input);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(options_at(*made, "/run"),
            (std::vector<std::string>{"nosuid", "nodev", "mode=755", "noexec", "size=64m"}));
  EXPECT_FALSE(has(options_at(*made, "/scratch"), "noexec"));
  EXPECT_TRUE(has(options_at(*made, "/run/token"), "ro"));
  std::vector<std::string> order;
  for (const Value& mount : *at(*made, {"mounts"}).list())
    order.push_back(mount.text("destination"));
  auto place = [&](const char* target) {
    return std::find(order.begin(), order.end(), target) - order.begin();
  };
  EXPECT_LT(place("/run"), place("/run/data"));
  EXPECT_LT(place("/run"), place("/run/token"));
}

TEST(Spec, SwapWhereTheKernelCounts) {
  Case with;
  with.launch.swap = MiB{1024};
  EXPECT_EQ(number(with.spec(), {"linux", "resources", "memory", "swap"}), int64_t{3072} << 20);
  with.host.cgroups.swap_limit = false;
  EXPECT_FALSE(make_spec(with.input()).ok());
}

TEST(Seccomp, AllowsByListOnly) {
  Value profile = seccomp_profile();
  EXPECT_EQ(profile.text("defaultAction"), "SCMP_ACT_ERRNO");
  std::vector<std::string> free;  // allowed whatever the arguments are
  for (const Value& rule : *at(profile, {"syscalls"}).list())
    if (rule.text("action") == "SCMP_ACT_ALLOW" && !rule.find("args"))
      for (const std::string& name : texts(*rule.find("names"))) free.push_back(name);
  for (const char* needed : {"read", "openat", "execve", "futex", "statx", "rseq", "epoll_wait"})
    EXPECT_TRUE(has(free, needed)) << needed;
  for (const char* never : {"mount",          "umount2",         "bpf",
                            "unshare",        "setns",           "kexec_load",
                            "keyctl",         "add_key",         "init_module",
                            "io_uring_setup", "perf_event_open", "userfaultfd",
                            "reboot",         "clone",           "clone3",
                            "personality",    "pivot_root",      "open_by_handle_at",
                            "swapon",         "syslog",          "fsopen",
                            "move_mount"})
    EXPECT_FALSE(has(free, never)) << never;
  auto sorted = free;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end()) << "twice in the list";
}

}  // namespace

}  // namespace tessera::local
