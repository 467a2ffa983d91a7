// Machines as trees of files: what the doctor says of each.

#include "monitor/doctor/doctor.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::monitor {
namespace {

constexpr std::string_view kModule =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n";

class Doctor : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "tessera-doctor-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    for (auto name : {"containerd", "runc", "skopeo", "umoci", "nft", "buildah", "tini-static"})
      put(cat("/usr/bin/", name), "");
    put("/usr/lib/cni/bridge", "");
    put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
    put("/dev/shm/x", "");
    for (auto name : {"cgroup", "ipc", "net", "pid", "uts"}) put(cat("/proc/self/ns/", name), "");
    put("/proc/sys/kernel/seccomp/actions_avail", "kill_process errno allow\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(make_directories(std::filesystem::path(root_ + path).parent_path()).ok());
    ASSERT_TRUE(write_file(root_ + path, text).ok());
  }
  void put_gpu(const std::string& address) {
    put(cat("/sys/bus/pci/devices/", address, "/vendor"), "0x10de\n");
    put(cat("/sys/bus/pci/devices/", address, "/class"), "0x030200\n");
  }
  void put_driver() {
    put_gpu("0000:3b:00.0");
    put("/proc/driver/nvidia/version", kModule);
    put("/dev/nvidiactl", "");
    put("/dev/nvidia-uvm", "");
    put("/usr/bin/nvidia-ctk", "");
  }
  // What is not good, a line each: "FAULT check: message | fix".
  std::string complaints(const std::string& kernel_log = {}) {
    return complaints_of({.root = root_,
                          .data_folder = "/var/lib/tessera",
                          .providers = nullptr,
                          .kernel_log = kernel_log});
  }
  static std::string complaints_of(const Patient& patient) {
    Report report = examine(patient);
    std::string out;
    for (const Finding& finding : report.findings) {
      // The disk is that of the machine that runs the test.
      if (finding.grade == Grade::kGood || finding.check == "disk") continue;
      out += cat(enum_names(finding.grade)[static_cast<size_t>(finding.grade)], " ", finding.check,
                 ": ", finding.message, " | ", finding.fix, "\n");
    }
    return out;
  }

  std::string root_;
};

TEST_F(Doctor, AMachineWithoutGpusIsWell) {
  EXPECT_EQ(complaints(), "");
}

TEST_F(Doctor, AMachineWithADriverIsWell) {
  put_driver();
  EXPECT_EQ(complaints(), "");
}

TEST_F(Doctor, ADriverThatIsNotLoaded) {
  put_gpu("0000:3b:00.0");
  put_gpu("0000:5e:00.0");
  EXPECT_EQ(complaints(),
            "Fault driver: 2 NVIDIA GPUs are on the bus, but the driver is not loaded | modprobe "
            "nvidia || apt-get install nvidia-driver\n");
}

TEST_F(Doctor, TheOpenDriverHoldsTheCards) {
  put_gpu("0000:3b:00.0");
  put("/sys/module/nouveau/version", "");
  EXPECT_EQ(complaints(),
            "Fault driver: 1 NVIDIA GPU is on the bus, but the open driver nouveau holds the "
            "cards, which cannot compute | apt-get install nvidia-driver && reboot\n");
}

TEST_F(Doctor, OtherCardsOfTheVendorAreNoGpus) {
  put("/sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
  put("/sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");  // its sound
  EXPECT_EQ(complaints(), "");
}

TEST_F(Doctor, A2_NodesThatNobodyMadeYet) {
  put_driver();
  std::filesystem::remove(root_ + "/dev/nvidia-uvm");
  EXPECT_EQ(complaints(),
            "Warning device-nodes: device nodes of the driver are missing, as after a boot before "
            "anyone used a GPU; Tessera makes them before a container starts | nvidia-modprobe -u "
            "-c=0\n");
}

TEST_F(Doctor, A12_NoContainerToolkit) {
  put_driver();
  std::filesystem::remove(root_ + "/usr/bin/nvidia-ctk");
  EXPECT_EQ(complaints(),
            "Fault cdi: NVIDIA's container toolkit is not installed, so no container can get a GPU "
            "| apt-get install nvidia-container-toolkit\n");
}

TEST_F(Doctor, A10_ASpecificationOfAnOlderDriver) {
  put_driver();
  put("/etc/cdi/nvidia.yaml", "hostPath: /usr/lib/libcuda.so.535.104.05\n");
  put("/var/run/cdi/nvidia.yaml", "hostPath: /usr/lib/libcuda.so.550.54.15\n");
  EXPECT_EQ(complaints(),
            "Fault cdi: a CDI specification is of driver 535.104.05, but 550.54.15 runs: "
            "containers get libraries that do not fit | nvidia-ctk cdi generate "
            "--output=/etc/cdi/nvidia.yaml\n");
}

TEST_F(Doctor, TheFirstXidOfADeviceIsTheCause) {
  std::string said = complaints(
      "usb 1-1: new device\n"
      "NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=python, Ch 00000010\n"
      "NVRM: Xid (PCI:0000:3b:00): 45, pid=4711, name=python\n"
      "NVRM: Xid (PCI:0000:5e:00): 79, pid='<unknown>', GPU has fallen off the bus.\n");
  EXPECT_EQ(said,
            "Warning xid: the driver has reported an error of PCI:0000:3b:00 | look the number up "
            "at docs.nvidia.com/deploy/xid-errors; 79 wants a reboot\n"
            "Warning xid: the driver has reported an error of PCI:0000:5e:00 | look the number up "
            "at docs.nvidia.com/deploy/xid-errors; 79 wants a reboot\n");
}

TEST_F(Doctor, WhatContainersNeedIsNamedWithItsPackage) {
  std::filesystem::remove(root_ + "/usr/bin/umoci");
  std::filesystem::remove(root_ + "/usr/lib/cni/bridge");
  EXPECT_EQ(complaints(),
            "Fault programs: umoci is not installed, which is needed to unpack images | apt-get "
            "install umoci\n"
            "Fault network: the CNI plugins are not installed, so that containers have no network "
            "| apt-get install containernetworking-plugins\n");
}

TEST_F(Doctor, ControlGroupsOfBothVersions) {
  put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io pids\n");
  EXPECT_NE(complaints().find("control groups of version 2 lack memory"), std::string::npos);
  std::filesystem::remove_all(root_ + "/sys/fs/cgroup");
  for (auto name : {"cpu", "memory", "pids"}) put(cat("/sys/fs/cgroup/", name, "/tasks"), "");
  EXPECT_NE(complaints().find("control groups of version 1 lack devices"), std::string::npos);
  put("/sys/fs/cgroup/devices/tasks", "");
  EXPECT_EQ(complaints(), "");
}

TEST_F(Doctor, AMachineThatRanOutOfMemory) {
  EXPECT_EQ(complaints("Out of memory: Killed process 812 (python) total-vm:99kB\n"
                       "Memory cgroup out of memory: Killed process 9 (a container's own)\n"),
            "Warning memory: the machine itself ran out of memory 1 time: programs outside of "
            "containers take what jobs were promised | free -g; give jobs limits with --memory, or "
            "stop what is not Tessera's\n");
}

TEST_F(Doctor, A1_ADaemonReloadWouldTakeTheGpus) {
  put_driver();
  put("/run/systemd/system/x", "");
  EXPECT_EQ(complaints(),
            "Fault device-links: the driver's devices have no links by their numbers, so that "
            "'systemctl daemon-reload' takes the GPUs from containers that run | nvidia-ctk system "
            "create-dev-char-symlinks --create-all\n");
  put("/dev/char/195:255", "");
  EXPECT_EQ(complaints(), "");
}

TEST_F(Doctor, I2_AToolkitThatLetsContainersOut) {
  put_driver();
  put("/etc/nvidia-container-runtime/config.toml",
      "[nvidia-container-cli]\n  ldconfig = \"/sbin/ldconfig\"\n");
  EXPECT_EQ(complaints(),
            "Fault toolkit: NVIDIA's container toolkit runs the ldconfig of the image, as root of "
            "this machine | write ldconfig = \"@/sbin/ldconfig\" in "
            "/etc/nvidia-container-runtime/config.toml\n");
  put("/etc/nvidia-container-runtime/config.toml", "ldconfig = \"@/sbin/ldconfig\"\n");
  EXPECT_EQ(complaints(), "");
}

TEST_F(Doctor, ProgramsThatAreTooOld) {
  auto said = [&](std::string program, std::string text) {
    return complaints_of({.root = root_,
                          .data_folder = "/var/lib/tessera",
                          .providers = nullptr,
                          .kernel_log = {},
                          .versions = {{std::move(program), std::move(text)}}});
  };
  EXPECT_EQ(said("containerd", "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20\n"),
            "");
  EXPECT_EQ(said("containerd", "containerd containerd.io v1.10.1 abc\n"), "");
  EXPECT_EQ(said("containerd", "containerd github.com/containerd/containerd 1.4.13\n"),
            "Warning versions: containerd is version 1.4.13, older than 1.6, which this Tessera is "
            "made for | apt-get install containerd\n");
  EXPECT_EQ(said("runc", "runc version 1.0.0~rc93+ds1\ncommit: 1.0\n"),
            "Warning versions: runc is version 1.0.0, older than 1.1, which this Tessera is made "
            "for | apt-get install runc\n");
  EXPECT_EQ(said("nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.16.1\n"),
            "Warning versions: nvidia-ctk is version 1.16.1, older than 1.17.8, which is free of "
            "known ways out of a container | apt-get install --only-upgrade "
            "nvidia-container-toolkit\n");
}

TEST_F(Doctor, AKernelThatLacksSomething) {
  put("/proc/sys/kernel/osrelease", "6.1.0-lab\n");
  put("/lib/modules/6.1.0-lab/modules.builtin", "kernel/net/bridge/bridge.ko\n");
  put("/lib/modules/6.1.0-lab/modules.dep", "kernel/drivers/net/veth.ko.xz:\n");
  EXPECT_EQ(complaints(),
            "Fault kernel: the kernel has no nf_tables, which keeps the projects' networks apart | "
            "modprobe nf_tables, or boot a kernel of the distribution\n");
  put("/sys/module/nf_tables/x", "");
  EXPECT_EQ(complaints(), "");
  put("/proc/sys/user/max_net_namespaces", "0\n");
  EXPECT_EQ(complaints(),
            "Fault kernel: no net namespaces are allowed | sysctl -w "
            "user.max_net_namespaces=15000\n");
}

TEST_F(Doctor, AClockThatNobodyKeepsRight) {
  auto at = [&](Instant now, std::optional<bool> synchronised) {
    return complaints_of({.root = root_,
                          .data_folder = "/var/lib/tessera",
                          .providers = nullptr,
                          .kernel_log = {},
                          .now = now,
                          .clock_synchronised = synchronised});
  };
  Instant today{1'800'000'000'000};
  EXPECT_EQ(at(today, true), "");
  EXPECT_EQ(at(today, std::nullopt), "");
  EXPECT_EQ(at(today, false),
            "Warning clock: nothing keeps the clock right | timedatectl set-ntp true\n");
  EXPECT_NE(at(Instant{1'000}, false).find("the clock is years behind"), std::string::npos);
}

TEST_F(Doctor, AnInitIsMissedOnlyByWhoWantsOne) {
  std::filesystem::remove(root_ + "/usr/bin/tini-static");
  EXPECT_EQ(complaints(),
            "Warning programs: tini-static is not installed, which is needed to give containers an "
            "init (--init) | apt-get install tini\n");
}

TEST_F(Doctor, ADataFolderInMemoryIsGoneAfterAReboot) {
  struct statfs facts{};
  if (::statfs("/dev/shm", &facts) != 0 || facts.f_type != TMPFS_MAGIC)
    GTEST_SKIP() << "/dev/shm is no tmpfs here";
  Report report = examine(
      {.root = {}, .data_folder = "/dev/shm/tessera", .providers = nullptr, .kernel_log = {}});
  auto disk = std::ranges::find(report.findings, "disk", &Finding::check);
  ASSERT_NE(disk, report.findings.end());
  EXPECT_EQ(disk->message,
            "the data folder lies on memory, where jobs and images are gone after a reboot");
}

}  // namespace
}  // namespace tessera::monitor
