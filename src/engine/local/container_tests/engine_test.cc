// What containers get, and what they do not: limits, devices, users, networks.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <thread>

#include "base/process.h"
#include "base/text.h"
#include "engine/conformance_stage.h"
#include "engine/local/netns.h"
#include "engine/local/task_table.h"
#include "fixture.h"

namespace tessera::local {

namespace {

using engine::Launch;
using engine::Observation;
using What = engine::Observation::What;

class Local : public testing::Test {
 protected:
  void SetUp() override {
    if (auto missing = Setting::missing(); !missing.empty()) GTEST_SKIP() << missing;
    fixture_ = std::make_unique<LocalFixture>(options());
    stage_ = std::make_unique<engine::Stage>(*fixture_);
  }
  virtual LocalOptions options() { return Setting::get().options(); }

  Launch script(const std::string& task, const std::string& text) const {
    return fixture_->script({task, 1}, text);
  }
  // Runs it to its end; what it printed.
  std::string output_of(const Launch& launch) {
    stage_->run_to_end(launch);
    return stage_->log({.ref = launch.ref, .follow = true});
  }
  std::string output_of(const std::string& task, const std::string& text) {
    return output_of(script(task, text));
  }
  pid_t pid_of(const engine::TaskRef& ref) {
    auto info = Setting::get().containerd().client().task(container_id(ref));
    EXPECT_TRUE(info.ok());
    return info.ok() ? static_cast<pid_t>(info->pid) : 0;
  }
  engine::Engine& engine() { return stage_->engine(); }
  // Waits for a line in the log of a container that goes on.
  void await_line(const engine::TaskRef& ref, std::string_view line) {
    bool found = false;
    std::string text;
    Status read = engine().read_log({.ref = ref, .follow = true}, [&](int, std::string_view piece) {
      text += piece;
      found = text.find(line) != std::string::npos;
      return !found;
    });
    EXPECT_TRUE(read.ok() && found) << text;
  }

  std::unique_ptr<LocalFixture> fixture_;
  std::unique_ptr<engine::Stage> stage_;
};

// --- Limits ------------------------------------------------------------------------------------

TEST_F(Local, LimitsAreInForce) {
  std::string said = output_of("limits", R"(
    grep -o ' /dev/shm .*' /proc/mounts
    cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null
    cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2>/dev/null
    cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null)");
  EXPECT_NE(said.find("size=16384k"), std::string::npos) << said;
  EXPECT_NE(said.find("67108864\n50000"), std::string::npos) << said;
  EXPECT_NE(said.find("\n64\n"), std::string::npos) << said;
}

TEST_F(Local, ForkBombsStayInside) {
  Launch launch = script("forks", "i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i+1)); done");
  std::string said = output_of(launch);
  EXPECT_NE(said.find("can't fork"), std::string::npos) << said;
}

TEST_F(Local, KernelIsOutOfReach) {
  std::string said = output_of("kernel", R"(
    grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status
    mount -t tmpfs x /tmp 2>&1
    unshare -U true 2>&1
    mknod /tmp/null c 1 3 2>&1
    echo x 2>&1 > /proc/sys/kernel/hostname
    [ -r /proc/kcore ] && head -c 1 /proc/kcore | wc -c)");
  EXPECT_NE(said.find("NoNewPrivs:\t1\n"), std::string::npos) << said;
  EXPECT_NE(said.find("Seccomp:\t2\n"), std::string::npos) << said;
  for (const char* refused : {"mount:", "unshare", "mknod:", "can't create"})
    EXPECT_NE(said.find(refused), std::string::npos) << refused << " in: " << said;
}

// --- Image and user ----------------------------------------------------------------------------

TEST_F(Local, UsersAndFoldersAreAsDockerHasThem) {
  Launch named = script("named", "id; pwd; echo $HOME; hostname; cat /etc/hostname");
  named.user = "app";
  named.working_dir = "/made/for/me";
  std::string said = output_of(named);
  EXPECT_NE(said.find("uid=1000(app)"), std::string::npos) << said;
  EXPECT_NE(said.find("\n/made/for/me\n"), std::string::npos) << said;
  EXPECT_NE(said.find("\nnamed-0\nnamed-0\n"), std::string::npos) << said;

  Launch numbered = script("numbered", "id -u; id -g");
  numbered.user = "4242:4343";
  EXPECT_EQ(output_of(numbered), "4242\n4343\n");

  Launch unknown = script("unknown", "true");
  unknown.user = "nobody-here";
  ASSERT_TRUE(stage_->ensure(unknown));
  Observation end = stage_->await(unknown.ref, What::kStartFailed);
  EXPECT_NE(end.message.find("the image has no user 'nobody-here'"), std::string::npos)
      << end.message;
}

TEST_F(Local, EntrypointOfTheImage) {
  Setting::get().add_image("speaks:latest", {"--cmd", "/bin/echo", "--cmd", "from the image"});
  Launch launch = script("speaks", "");
  launch.image = "speaks";
  launch.command.clear();
  EXPECT_EQ(output_of(launch), "from the image\n");
}

TEST_F(Local, VolumesAreMountedAsAsked) {
  std::string data = Setting::get().folder() + "/gates/data";
  ASSERT_TRUE(make_directories(data).ok());
  ASSERT_TRUE(write_file(data + "/in", "given\n").ok());
  Launch launch = script("volumes", "cat /ro/in; touch /ro/x 2>&1; echo made > /rw/out");
  launch.host_paths = {Setting::get().folder() + "/gates"};
  launch.volumes = {{.source = data, .target = "/ro", .readOnly = true},
                    {.source = data, .target = "/rw"}};
  std::string said = output_of(launch);
  EXPECT_TRUE(said.starts_with("given\n")) << said;
  EXPECT_NE(said.find("Read-only file system"), std::string::npos) << said;
  EXPECT_EQ(*read_file(data + "/out"), "made\n");

  Launch missing = script("missing", "true");
  missing.host_paths = launch.host_paths;
  missing.volumes = {{.source = data + "/nothing", .target = "/x"}};
  ASSERT_TRUE(stage_->ensure(missing));
  Observation end = stage_->await(missing.ref, What::kStartFailed);
  EXPECT_NE(end.message.find("/nothing does not exist"), std::string::npos) << end.message;
}

// --- Devices -----------------------------------------------------------------------------------

// Character devices of a number that no driver has: a device cgroup that allows them lets the
// kernel answer "no such device", else it says "not permitted".
constexpr int kMajor = 240;

class LocalDevices : public Local {
 protected:
  LocalOptions options() override {
    cdi_ = Setting::get().folder() + "/cdi";
    EXPECT_TRUE(make_directories(cdi_).ok());
    std::string devices;
    for (int minor : {0, 1})
      devices += cat(
          minor == 0 ? "" : ",", R"({"name": ")", minor, R"(", "containerEdits": {"env": ["SIM=)",
          minor, R"("], "deviceNodes": [{"path": "/dev/sim)", minor, R"(", "type": "c", "major": )",
          kMajor, R"(, "minor": )", minor, R"(, "fileMode": 438, "permissions": "rw"}]}})");
    EXPECT_TRUE(write_file(cdi_ + "/sim.json",
                           cat(R"({"cdiVersion": "0.6.0", )",
                               R"("kind": "tessera.test/sim", "devices": [)", devices, "]}"))
                    .ok());
    LocalOptions out = Setting::get().options();
    out.cdi_folders = {cdi_};
    return out;
  }
  Launch with_device(Launch launch, const std::string& name) const {
    api::Accelerator device;
    device.metadata.name = "SIM-" + name;
    device.status.cdiDevice = "tessera.test/sim=" + name;
    launch.accelerators = {device};
    launch.allocations = {{.accelerator = device.metadata.name, .memory = MiB{100}}};
    return launch;
  }
  std::string cdi_;
};

TEST_F(LocalDevices, OnlyTheAllocatedOneCanBeOpened) {
  Launch launch = with_device(
      fixture_->launch({"device", 1},
                       {.steps = {{.text = "ready"}, {.kind = engine::Step::Kind::kRunForever}}}),
      "1");
  stage_->run_until_started(launch);
  await_line(launch.ref, "ready");
  // The other device's node, made from outside where the container can see it.
  std::string foreign = cat("/proc/", pid_of(launch.ref), "/root/foreign");
  ASSERT_EQ(::mknod(foreign.c_str(), S_IFCHR | 0666, ::makedev(kMajor, 0)), 0);
  engine::ExecRequest request = fixture_->exec(launch.ref, {});
  request.argv = {"/bin/sh", "-c",
                  "ls /dev/sim*; echo $SIM $TESSERA_ACCELERATORS $CUDA_DEVICE_ORDER; "
                  "cat /dev/sim1 2>&1; cat /foreign 2>&1"};
  engine::Output output;
  auto session = engine().exec(request, stage_->events(output));
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(stage_->wait([&] { return output.exit_code.has_value(); }));
  const std::string& said = output.text[1];
  EXPECT_TRUE(said.starts_with("/dev/sim1\n1 SIM-1 PCI_BUS_ID\n")) << said;
  EXPECT_NE(said.find("/dev/sim1': No such device or address"), std::string::npos) << said;
  EXPECT_NE(said.find("/foreign': Operation not permitted"), std::string::npos) << said;
}

TEST_F(LocalDevices, NoRequestNoDevice) {
  Setting::get().add_image("greedy:latest", {"--env", "NVIDIA_VISIBLE_DEVICES=all"});
  Launch launch = script("greedy", "echo $NVIDIA_VISIBLE_DEVICES; ls /dev; env | grep -c SIM");
  launch.image = "greedy";
  std::string said = output_of(launch);
  EXPECT_TRUE(said.starts_with("void\n")) << said;
  EXPECT_EQ(said.find("sim"), std::string::npos) << said;
  EXPECT_EQ(said.find("nvidia"), std::string::npos) << said;
}

TEST_F(LocalDevices, AnUnknownDeviceIsAnAcceleratorFault) {
  Launch launch = with_device(script("unknown-device", "true"), "7");
  ASSERT_TRUE(stage_->ensure(launch));
  Observation end = stage_->await(launch.ref, What::kStartFailed);
  EXPECT_EQ(end.reason, api::Reason::kAcceleratorFault);
  EXPECT_NE(end.message.find("tessera.test/sim=7"), std::string::npos) << end.message;
}

// --- Networks ----------------------------------------------------------------------------------

TEST_F(Local, ProjectsDoNotReachEachOther) {
  Launch server = script("server", "hostname -i; exec nc -ll -p 7000 -e echo hello");
  server.project = "red";
  stage_->run_until_started(server);
  await_line(server.ref, "\n");
  std::string address(trim(stage_->log({.ref = server.ref})));
  ASSERT_FALSE(address.empty());

  std::string call = cat("nc -w 2 ", address, " 7000 < /dev/null || echo no answer");
  Launch friendly = script("friendly", call), stranger = script("stranger", call);
  friendly.project = "red";
  stranger.project = "blue";
  EXPECT_EQ(output_of(friendly), "hello\n");
  // The shell's own words of what its parts died of may come before or after.
  std::string stranger_says = output_of(stranger);
  EXPECT_NE(stranger_says.find("no answer\n"), std::string::npos) << stranger_says;
  EXPECT_EQ(stranger_says.find("hello"), std::string::npos) << stranger_says;
  EXPECT_NE(output_of("resolver", "cat /etc/resolv.conf").find("192.0.2.53"), std::string::npos);
}

// A machine beyond ours that knows no way back to the containers' addresses: it can answer only if
// what they send carries our machine's own.
class Outside {
 public:
  explicit Outside(std::string path) : path_(std::move(path)) {
    CHECK(create_netns(path_).ok());
    must({"ip", "link", "add", "out0", "type", "veth", "peer", "name", "in0"});
    must({"ip", "link", "set", "in0", "netns", path_});
    must({"ip", "addr", "add", "198.51.100.1/24", "dev", "out0"});
    must({"ip", "link", "set", "out0", "up"});
    must(inside({"ip", "addr", "add", "198.51.100.2/24", "dev", "in0"}));
    must(inside({"ip", "link", "set", "in0", "up"}));
    server_ = std::thread(
        [this] { must(inside({"busybox", "nc", "-l", "-p", "7001", "-e", "echo", "outside"})); });
  }
  ~Outside() {
    server_.join();  // it answers once
    must({"ip", "link", "del", "out0"});
    CHECK(remove_netns(path_).ok());
  }

 private:
  std::vector<std::string> inside(std::vector<std::string> argv) const {
    argv.insert(argv.begin(), {"nsenter", "--net=" + path_});
    return argv;
  }
  static void must(std::vector<std::string> argv) {
    auto ran = run_program({.argv = std::move(argv)});
    EXPECT_TRUE(ran.ok() && ran->exit_code == 0) << (ran.ok() ? ran->err : ran.error().text());
  }
  const std::string path_;
  std::thread server_;
};

TEST_F(Local, TheWorldIsReachedInTheMachinesName) {
  Outside outside(Setting::get().folder() + "/outside");
  EXPECT_EQ(output_of("traveller", "until nc -w 2 198.51.100.2 7001 < /dev/null; do :; done"),
            "outside\n");
}

class LocalWithoutNetwork : public Local {
 protected:
  LocalOptions options() override {
    LocalOptions out = Setting::get().options();
    out.bridge_network = false;
    return out;
  }
};

TEST_F(LocalWithoutNetwork, HasItsLoopbackOnlyAndSaysSo) {
  EXPECT_EQ(output_of("alone", "ls /sys/class/net; ip link show lo | grep -o LOOPBACK,UP"),
            "lo\nLOOPBACK,UP\n");
  auto node = engine().node();
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node->status.ready);
  EXPECT_EQ(node->metadata.name, "test-node");
  EXPECT_NE(node->status.message.find("no network"), std::string::npos);
  EXPECT_NE(node->status.engine.find("containerd 1."), std::string::npos) << node->status.engine;
}

// --- Signals and terminals ---------------------------------------------------------------------

TEST_F(Local, D10_StopReachesTheChildrenOfAShell) {
  // The shell in front of a training script must not keep the signal to itself.
  Launch launch = script("children", R"(
    sh -c 'trap "echo checkpoint saved; exit 0" TERM; echo training; while :; do sleep 1; done' &
    trap '' TERM; echo waiting; wait; echo over)");
  stage_->run_until_started(launch);
  await_line(launch.ref, "training");
  await_line(launch.ref, "waiting");
  ASSERT_TRUE(engine().stop(launch.ref, "SIGTERM", Millis{600'000}).ok());
  EXPECT_EQ(stage_->await(launch.ref, What::kExited).exit_code, 0);
  // In between or after them the shell may say that the sleep was ended.
  std::string log = stage_->log({.ref = launch.ref});
  EXPECT_NE(log.find("checkpoint saved\n"), std::string::npos) << log;
  EXPECT_NE(log.find("over\n"), std::string::npos) << log;
}

TEST_F(Local, TerminalsHaveASizeAndAnInput) {
  Launch launch = script("terminal", "[ -t 0 ] && echo is a tty; read x; stty size; read x");
  launch.tty = launch.stdin_open = true;
  stage_->run_until_started(launch);
  engine::Output output;
  auto session = engine().attach(launch.ref, stage_->events(output));
  ASSERT_TRUE(session.ok()) << session.error().text();
  ASSERT_TRUE((*session)->resize(33, 77).ok());
  ASSERT_TRUE((*session)->send_stdin("go\n").ok());
  EXPECT_TRUE(stage_->wait([&] { return output.text[1].find("33 77") != std::string::npos; }));
  ASSERT_TRUE((*session)->send_stdin("end\n").ok());
  EXPECT_TRUE(stage_->wait([&] { return output.exit_code.has_value(); }));
  EXPECT_NE(stage_->log({.ref = launch.ref}).find("is a tty"), std::string::npos);
}

TEST_F(Local, ExecWithATerminalAndAUser) {
  Launch launch =
      fixture_->launch({"host", 1}, {.steps = {{.kind = engine::Step::Kind::kRunForever}}});
  stage_->run_until_started(launch);
  engine::ExecRequest request = fixture_->exec(launch.ref, {});
  request.argv = {"/bin/sh", "-c", "stty size; id -un; pwd; echo $A $TERM $TESSERA_TASK"};
  request.env = {{"A", "b"}};
  request.user = "app";
  request.working_dir = "/tmp";
  request.tty = true;
  request.rows = 12;
  request.columns = 34;
  engine::Output output;
  auto session = engine().exec(request, stage_->events(output));
  ASSERT_TRUE(session.ok()) << session.error().text();
  ASSERT_TRUE(stage_->wait([&] { return output.exit_code.has_value(); }));
  EXPECT_EQ(output.text[1], "12 34\r\napp\r\n/tmp\r\nb xterm host\r\n");
  engine::ExecRequest wrong = fixture_->exec(launch.ref, {});
  wrong.argv = {"/no/such/program"};
  auto refused = engine().exec(wrong, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("/no/such/program"), std::string::npos)
      << refused.error().text();
}

}  // namespace

}  // namespace tessera::local
