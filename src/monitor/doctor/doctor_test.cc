// Machines as trees of files: what the doctor says of each.

#include "monitor/doctor/doctor.h"

#include <gtest/gtest.h>

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
    for (auto name : {"containerd", "runc", "skopeo", "umoci", "nft"})
      put(cat("/usr/bin/", name), "");
    put("/usr/lib/cni/bridge", "");
    put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
    put("/dev/shm/x", "");
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
    Report report = examine({.root = root_,
                             .data_folder = "/var/lib/tessera",
                             .providers = nullptr,
                             .kernel_log = kernel_log});
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

}  // namespace
}  // namespace tessera::monitor
