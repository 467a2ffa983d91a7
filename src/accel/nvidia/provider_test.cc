// The NVIDIA provider against a scripted NVML (tests/fake_nvml) and a fake root of the host. Tests
// are named after the faults of docs/faults that they stand for.

#include "accel/nvidia/provider.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "accel/cdi.h"
#include "base/file.h"
#include "base/text.h"

namespace tessera::accel::nvidia {
namespace {

// Far above anything that these tests do, sanitizers and a busy machine included.
constexpr Millis kPatience{120'000};

constexpr std::string_view kA = "GPU-aaaaaaaa-0000-0000-0000-000000000001";
constexpr std::string_view kB = "GPU-bbbbbbbb-0000-0000-0000-000000000002";

std::string device(std::string_view uuid, std::string_view pci, int minor,
                   std::string_view more = "") {
  return cat("device ", uuid, "\n  name NVIDIA H100 80GB HBM3\n  pci ", pci, "\n  minor ", minor,
             "\n  memory 81559 559 0\n  compute 9 0\n", more);
}
// NVML's order is the reverse of the bus's.
std::string two_devices() {
  return device(kB, "00000000:5E:00.0", 0) + device(kA, "00000000:3B:00.0", 1);
}

class Nvidia : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = std::filesystem::temp_directory_path() / "tessera-nvml-XXXXXX";
    base_ = ::mkdtemp(pattern.data());
    // Set once: the provider's thread reads the environment too.
    ::setenv("TESSERA_FAKE_NVML", cat(base_, "/script").c_str(), 1);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(base_); }

  void SetUp() override {
    root_ = cat(base_, "/root");
    data_ = cat(base_, "/data");
    script(two_devices());
    restart();
  }
  void TearDown() override {
    script("");  // lets go of calls that hang
    provider_.reset();
    std::filesystem::remove_all(root_);
    std::filesystem::remove_all(data_);
  }

  static void script(const std::string& text) {
    ASSERT_TRUE(write_file(cat(base_, "/script"), text).ok());
  }
  void host(const std::string& path, std::string_view text, unsigned mode = 0644) {
    ASSERT_TRUE(make_directories(std::filesystem::path(root_ + path).parent_path()).ok());
    ASSERT_TRUE(write_file(root_ + path, text, mode).ok());
  }
  void restart(const std::string& library = FAKE_NVML) {
    provider_ = std::make_unique<NvidiaProvider>(ProviderOptions{.data_folder = data_,
                                                                 .nvml_library = library,
                                                                 .nvml_probe = {FAKE_NVML_PROBE},
                                                                 .host_root = root_});
    provider_->set_deadline(kPatience);
  }
  Inventory scan() {
    auto inventory = provider_->scan();
    EXPECT_TRUE(inventory.ok());
    return inventory.ok() ? *inventory : Inventory{};
  }
  api::AcceleratorStatus scan_one() {
    Inventory inventory = scan();
    EXPECT_EQ(inventory.accelerators.size(), 1u);
    return inventory.accelerators.empty() ? api::AcceleratorStatus{}
                                          : inventory.accelerators[0].status;
  }

  static inline std::string base_;
  std::string root_, data_;
  std::unique_ptr<NvidiaProvider> provider_;
};

void expect_fenced(const api::AcceleratorStatus& status, std::string_view why) {
  EXPECT_EQ(status.health, api::Health::kFenced);
  EXPECT_NE(status.message.find(why), std::string::npos) << status.message;
}

TEST_F(Nvidia, A8_IndicesFollowThePciBusNotNvml) {
  Inventory inventory = scan();
  ASSERT_EQ(inventory.accelerators.size(), 2u);
  EXPECT_TRUE(inventory.problems.empty());
  const api::Accelerator& first = inventory.accelerators[0];
  EXPECT_EQ(first.metadata.name, kA);
  EXPECT_EQ(first.status.index, 0);
  EXPECT_EQ(first.status.pciBusId, "00000000:3B:00.0");
  EXPECT_EQ(first.status.vendor, "nvidia");
  EXPECT_EQ(first.status.model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(first.status.memory.value, 81000) << "what the driver keeps is not for tasks";
  EXPECT_EQ(first.status.computeCapability, "9.0");
  EXPECT_EQ(first.status.driverVersion, "550.54.15");
  EXPECT_EQ(first.status.cdiDevice, cat("nvidia.com/gpu=", kA));
  EXPECT_EQ(first.status.health, api::Health::kHealthy);
  EXPECT_FALSE(first.status.simulated);
  EXPECT_EQ(inventory.accelerators[1].metadata.name, kB);
  // The order of the library changes with a reboot; ours does not.
  script(device(kA, "00000000:3B:00.0", 1) + device(kB, "00000000:5E:00.0", 0));
  EXPECT_EQ(scan().accelerators[0].metadata.name, kA);
}

TEST_F(Nvidia, A16_DevicesThatComeLaterAreFound) {
  script("");
  EXPECT_TRUE(scan().accelerators.empty());
  script(device(kA, "00000000:3B:00.0", 0));
  EXPECT_EQ(scan_one().health, api::Health::kHealthy);
}

TEST_F(Nvidia, A16_MissingLibraryIsAnEmptyInventory) {
  restart(cat(base_, "/no/libnvidia-ml.so.1"));
  Inventory inventory = scan();
  EXPECT_TRUE(inventory.accelerators.empty());
  EXPECT_TRUE(inventory.problems.empty());
}

TEST_F(Nvidia, LibraryThatCannotBeLoadedIsAProblemWithItsReason) {
  host("/lib/libnvidia-ml.so.1", "this is no library");
  restart(cat(root_, "/lib/libnvidia-ml.so.1"));
  Inventory inventory = scan();
  ASSERT_EQ(inventory.problems.size(), 1u);
  EXPECT_NE(inventory.problems[0].find("cannot load NVML"), std::string::npos);
}

TEST_F(Nvidia, SamplesSayWhatDevicesDoAndForWhom) {
  script(cat("device ", kA,
             "\n  name NVIDIA H100 80GB HBM3\n  pci 00000000:3B:00.0\n  minor 0\n"
             "  memory 81559 559 1024\n  utilization 87 40\n  temperature 64\n"
             "  power 412 700\n  fan 30\n  pstate 0\n  process 4711 512\n"
             "  process 4712 480\n  graphics 99 16\n"));
  auto samples = provider_->sample();
  ASSERT_TRUE(samples.ok()) << samples.error().text();
  ASSERT_EQ(samples->size(), 1u);
  const Sample& sample = samples->at(0);
  EXPECT_EQ(sample.uuid, kA);
  EXPECT_EQ(sample.memory_used, MiB{1024});
  EXPECT_EQ(sample.utilization, Percent{87});
  EXPECT_EQ(sample.temperature_celsius, 64);
  EXPECT_EQ(sample.power_watts, 412);
  EXPECT_EQ(sample.power_limit_watts, 700);
  EXPECT_EQ(sample.fan, Percent{30});
  EXPECT_EQ(sample.performance_state, "P0");
  ASSERT_EQ(sample.processes.size(), 3u);
  EXPECT_EQ(sample.processes[1].pid, 4712);
  EXPECT_EQ(sample.processes[1].memory, MiB{480});
}

TEST_F(Nvidia, SamplesOfWhatIsNotToldAreAbsent) {
  script(cat(device(kA, "00000000:3B:00.0", 0, "  temperature 64\n"),
             "fault nvmlDeviceGetTemperature value 4294967295\n"));
  auto samples = provider_->sample();
  ASSERT_TRUE(samples.ok()) << samples.error().text();
  const Sample& sample = samples->at(0);
  EXPECT_FALSE(sample.temperature_celsius);
  EXPECT_FALSE(sample.utilization);
  EXPECT_FALSE(sample.power_watts);
  EXPECT_EQ(sample.performance_state, "");
  EXPECT_TRUE(sample.processes.empty());
}

TEST_F(Nvidia, C7_SentinelsAndAbsurdValuesAreDropped) {
  struct Case {
    std::string_view call, value;
    void (*check)(const api::AcceleratorStatus&);
  };
  auto no_memory = [](const api::AcceleratorStatus& status) {
    EXPECT_EQ(status.memory.value, 0);
    expect_fenced(status, "does not tell how much memory");
  };
  auto no_compute = [](const api::AcceleratorStatus& status) {
    EXPECT_EQ(status.computeCapability, "");
    EXPECT_EQ(status.health, api::Health::kHealthy);
  };
  const Case cases[] = {
      {"nvmlDeviceGetMemoryInfo_v2", "9223372036854775794", no_memory},
      {"nvmlDeviceGetMemoryInfo_v2", "140737488355328", no_memory},
      {"nvmlDeviceGetMemoryInfo_v2", "0", no_memory},
      {"nvmlDeviceGetMemoryInfo_v2", "0xffffffffffffffff", no_memory},
      {"nvmlDeviceGetCudaComputeCapability", "2147483632", no_compute},
      {"nvmlDeviceGetPciInfo_v3", "4294967295",
       [](const api::AcceleratorStatus& status) { EXPECT_EQ(status.pciBusId, ""); }},
      {"nvmlDeviceGetMemoryAffinity", "4294967295",
       [](const api::AcceleratorStatus& status) { EXPECT_FALSE(status.numaNode.has_value()); }},
      {"nvmlDeviceGetRemappedRows", "4294967295",
       [](const api::AcceleratorStatus& status) {
         EXPECT_EQ(status.health, api::Health::kHealthy);
       }},
  };
  for (const Case& row : cases) {
    SCOPED_TRACE(cat(row.call, " ", row.value));
    script(device(kA, "00000000:3B:00.0", 0, "  numa 0\n  remapped 0 0 0 0\n") +
           cat("fault ", row.call, " value ", row.value, "\n"));
    restart();
    row.check(scan_one());
  }
}

TEST_F(Nvidia, C7_AbsurdCountIsAProblemNotALoop) {
  script(two_devices() + "fault nvmlDeviceGetCount_v2 value 4294967295\n");
  Inventory inventory = scan();
  EXPECT_TRUE(inventory.accelerators.empty());
  ASSERT_EQ(inventory.problems.size(), 1u);
  EXPECT_NE(inventory.problems[0].find("absurd"), std::string::npos);
}

TEST_F(Nvidia, OlderLibraryWithoutTheNewerCalls) {
  script(device(kA, "00000000:3B:00.0", 0) + "fault nvmlDeviceGetMemoryInfo_v2 return 13\n");
  EXPECT_EQ(scan_one().memory.value, 81559);
}

TEST_F(Nvidia, ZeroDevices) {
  script("driver 550.54.15\n");
  Inventory inventory = scan();
  EXPECT_TRUE(inventory.accelerators.empty());
  EXPECT_TRUE(inventory.problems.empty());
}

TEST_F(Nvidia, NumaNodeIsTheHostsBySysfsElseByAffinity) {
  script(device(kA, "00000000:3B:00.0", 0, "  numa 1\n  memory_node 7\n"));
  EXPECT_EQ(scan_one().numaNode, 1);
  host("/sys/bus/pci/devices/0000:3b:00.0/numa_node", "-1\n");
  EXPECT_EQ(scan_one().numaNode, 1);
  host("/sys/bus/pci/devices/0000:3b:00.0/numa_node", "0\n");
  EXPECT_EQ(scan_one().numaNode, 0);
}

TEST_F(Nvidia, LinksAreNvlinksElseTheCommonAncestor) {
  constexpr std::string_view kC = "GPU-cccccccc-0000-0000-0000-000000000003";
  script(
      device(kA, "00000000:3B:00.0", 0,
             cat("  nvlink 00000000:5E:00.0\n  nvlink down\n  nvlink 00000000:5E:00.0\n",
                 "  topology ", kC, " 30\n")) +
      device(kB, "00000000:5E:00.0", 1, "  nvlink 00000000:3B:00.0\n  nvlink 00000000:3B:00.0\n") +
      device(kC, "00000000:86:00.0", 2, cat("  topology ", kA, " 30\n")));
  Inventory inventory = scan();
  ASSERT_EQ(inventory.accelerators.size(), 3u);
  std::vector<api::Link> expected = {{std::string(kB), "NV2"}, {std::string(kC), "PHB"}};
  EXPECT_EQ(inventory.accelerators[0].status.links, expected);
  expected = {{std::string(kA), "PHB"}, {std::string(kB), "SYS"}};
  EXPECT_EQ(inventory.accelerators[2].status.links, expected);
}

TEST_F(Nvidia, LinksThroughSwitchesCountForEachPair) {
  std::string links = "  nvlink switch\n  nvlink switch\n  nvlink switch\n";
  script(device(kA, "00000000:3B:00.0", 0, links) + device(kB, "00000000:5E:00.0", 1, links));
  std::vector<api::Link> expected = {{std::string(kB), "NV3"}};
  EXPECT_EQ(scan().accelerators[0].status.links, expected);
}

TEST_F(Nvidia, C11_DevicesWithKnownDefectsAreFenced) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"  remapped 0 1 1 0\n", "waits for a reset"},
      {"  remapped 0 1 0 1\n", "could not replace a broken row"},
      {"  retiring 1\n", "waits for a reboot to retire"},
      {"  mig 1\n", "MIG mode"},
  };
  for (const auto& [line, why] : cases) {
    script(device(kA, "00000000:3B:00.0", 0, line));
    restart();
    expect_fenced(scan_one(), why);
  }
}

TEST_F(Nvidia, D6_OneLostDeviceFencesOneAndC5_ItStaysInTheInventory) {
  ASSERT_EQ(scan().accelerators.size(), 2u);
  // Still listed, but every call about it says that it is lost.
  script(two_devices() + cat("fault nvmlDeviceGetMemoryInfo return 15 device ", kB, "\n"));
  Inventory inventory = scan();
  EXPECT_EQ(inventory.accelerators[0].status.health, api::Health::kHealthy);
  expect_fenced(inventory.accelerators[1].status, "fell off the bus");
  // No longer listed at all: what was known of it stays.
  script(device(kA, "00000000:3B:00.0", 1));
  inventory = scan();
  ASSERT_EQ(inventory.accelerators.size(), 2u);
  EXPECT_EQ(inventory.accelerators[0].status.health, api::Health::kHealthy);
  expect_fenced(inventory.accelerators[1].status, "fell off the bus");
  EXPECT_EQ(inventory.accelerators[1].status.memory.value, 81000);
  // D7: it comes back into service when it is back.
  script(two_devices());
  EXPECT_EQ(scan().accelerators[1].status.health, api::Health::kHealthy);
}

TEST_F(Nvidia, D6_DeviceThatFailsWhileItIsReadKeepsItsFacts) {
  ASSERT_EQ(scan().accelerators.size(), 2u);
  script(two_devices() + cat("fault * return 15 device ", kB, " after 2\n"));
  Inventory inventory = scan();
  ASSERT_EQ(inventory.accelerators.size(), 2u);
  EXPECT_EQ(inventory.accelerators[0].status.health, api::Health::kHealthy);
  expect_fenced(inventory.accelerators[1].status, "fell off the bus");
  EXPECT_EQ(inventory.accelerators[1].status.model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(inventory.accelerators[1].status.pciBusId, "00000000:5E:00.0");
}

TEST_F(Nvidia, DeviceThatCannotBeOpenedIsNamedByItsIndex) {
  script(two_devices() + cat("fault nvmlDeviceGetHandleByIndex_v2 return 15 device ", kB, "\n"));
  Inventory inventory = scan();
  EXPECT_EQ(inventory.accelerators.size(), 1u);
  ASSERT_EQ(inventory.problems.size(), 1u);
  EXPECT_EQ(inventory.problems[0],
            "the device with NVML's index 0 cannot be identified: GPU is lost (15)");
}

TEST_F(Nvidia, DeviceThatOnlyTheKernelKnowsIsFenced) {
  script(device(kA, "00000000:3B:00.0", 0));
  host("/proc/driver/nvidia/gpus/0000:5e:00.0/information",
       cat("Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t ", kB, "\nDevice Minor: \t 1\n"));
  host("/proc/driver/nvidia/gpus/0000:86:00.0/information",
       "Model: \t\t Unknown\nGPU UUID: \t GPU-?\n");
  for (int round = 0; round < 2; ++round) {
    Inventory inventory = scan();
    ASSERT_EQ(inventory.accelerators.size(), 2u);
    EXPECT_EQ(inventory.accelerators[1].metadata.name, kB);
    expect_fenced(inventory.accelerators[1].status, "NVML does not list it");
  }
}

TEST_F(Nvidia, J3_HangingDriverIsAFindingAndRecovers) {
  ASSERT_EQ(scan().accelerators.size(), 2u);
  script(two_devices() + "fault nvmlDeviceGetName hang\n");
  provider_->set_deadline({20});
  for (int round = 0; round < 3; ++round) {  // no thread more, however often it is asked
    Inventory inventory = scan();
    ASSERT_EQ(inventory.accelerators.size(), 2u);
    for (const api::Accelerator& one : inventory.accelerators)
      expect_fenced(one.status, "the NVIDIA driver has not answered within 40ms");
    ASSERT_EQ(inventory.problems.size(), 1u);
    auto refused = provider_->prepare(inventory.accelerators[0]);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("has not answered"), std::string::npos);
  }
  script(two_devices());
  provider_->set_deadline(kPatience);
  for (const api::Accelerator& one : scan().accelerators)
    EXPECT_EQ(one.status.health, api::Health::kHealthy);
}

TEST_F(Nvidia, J3_ProviderGoesWhileACallHangs) {
  ASSERT_EQ(scan().accelerators.size(), 2u);
  script(two_devices() + "fault nvmlInit_v2 hang\n");
  provider_->set_deadline({20});
  EXPECT_EQ(scan().problems.size(), 1u);
  provider_.reset();  // must not wait
  restart();
  script(two_devices());
  EXPECT_TRUE(scan().problems.empty());
}

TEST_F(Nvidia, J3_HangAtTheFirstLookIsCaughtInTheProbe) {
  script(two_devices() + "fault nvmlInit_v2 hang\n");
  provider_->set_deadline({50});
  Inventory inventory = scan();
  ASSERT_EQ(inventory.problems.size(), 1u);
  EXPECT_NE(inventory.problems[0].find("answer"), std::string::npos) << inventory.problems[0];
  script(two_devices());
  provider_->set_deadline(kPatience);
  EXPECT_EQ(scan().accelerators.size(), 2u);
}

TEST_F(Nvidia, H8_LibraryThatCrashesTakesOnlyTheProbeAlong) {
  for (std::string_view call : {"load", "nvmlInit_v2", "nvmlDeviceGetCount_v2"}) {
    script(two_devices() + cat("fault ", call, " crash\n"));
    restart();
    Inventory inventory = scan();
    EXPECT_TRUE(inventory.accelerators.empty());
    ASSERT_EQ(inventory.problems.size(), 1u) << call;
    EXPECT_NE(inventory.problems[0].find("crashes when it is used"), std::string::npos)
        << inventory.problems[0];
    script(two_devices());
    EXPECT_EQ(scan().accelerators.size(), 2u) << "after the repair of " << call;
  }
}

TEST_F(Nvidia, A10_MismatchOfDriverAndLibraryFencesWithBothVersions) {
  host("/proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
       "GCC version:  gcc version 12.2.0\n");
  ASSERT_TRUE(scan().problems.empty());
  script("driver 550.90.07\n" + two_devices());
  Inventory inventory = scan();
  ASSERT_EQ(inventory.accelerators.size(), 2u);
  for (const api::Accelerator& one : inventory.accelerators)
    expect_fenced(one.status, "the kernel module is 550.54.15, the library 550.90.07");
  ASSERT_EQ(inventory.problems.size(), 1u);
  // The way the real library says it: it does not start at all.
  script(two_devices() + "fault nvmlInit_v2 return 18\n");
  inventory = scan();
  for (const api::Accelerator& one : inventory.accelerators)
    expect_fenced(one.status, "driver/library version mismatch");
  EXPECT_FALSE(provider_->prepare(inventory.accelerators[0]).ok());
  script(two_devices());
  EXPECT_TRUE(scan().problems.empty());
}

TEST_F(Nvidia, A10_LibraryReplacedOnTheDiskIsReadAnew) {
  std::string copy = cat(root_, "/lib/libnvidia-ml.so.1");
  auto install = [&] {
    ASSERT_TRUE(make_directories(root_ + "/lib").ok());
    std::filesystem::copy_file(FAKE_NVML, copy + ".new",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(copy + ".new", copy);
  };
  install();
  restart(copy);
  ASSERT_EQ(scan().accelerators.size(), 2u);
  // The new one crashes: had it not been tried elsewhere first, this process would be gone.
  install();
  script(two_devices() + "fault load crash\n");
  Inventory inventory = scan();
  ASSERT_EQ(inventory.problems.size(), 1u);
  EXPECT_NE(inventory.problems[0].find("crashes"), std::string::npos);
  EXPECT_EQ(inventory.accelerators[0].status.health, api::Health::kFenced);
}

TEST_F(Nvidia, A10_ModuleExchangedAfterTheScanIsSeenBeforeStart) {
  host("/proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n");
  Inventory inventory = scan();
  host("/proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.28.03  Release Build\n");
  auto refused = provider_->prepare(inventory.accelerators[0]);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("560.28.03"), std::string::npos);
}

TEST_F(Nvidia, A18_DriverThatIsNotLoadedIsAReasonBeforeStart) {
  Inventory inventory = scan();
  script(two_devices() + "fault nvmlInit_v2 return 9\n");
  ASSERT_EQ(scan().problems.size(), 1u);
  auto refused = provider_->prepare(inventory.accelerators[0]);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find("run modprobe nvidia"), std::string::npos);
  api::Accelerator stranger;
  stranger.metadata.name = "GPU-ffffffff";
  EXPECT_FALSE(provider_->prepare(stranger).ok());
}

// ---- prepare(): device nodes and CDI

constexpr std::string_view kDevices =
    "Character devices:\n  1 mem\n195 nvidia\n509 nvidia-uvm\n\nBlock devices:\n  8 sd\n";

// A spec like that of nvidia-ctk, for device A.
std::string spec(std::string_view uuid) {
  return cat("cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: ", uuid,
             "\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia1\n"
             "containerEdits:\n  env: [NVIDIA_VISIBLE_DEVICES=void]\n  deviceNodes:\n"
             "  - path: /dev/nvidiactl\n  - path: /dev/nvidia-uvm\n");
}

class NvidiaPrepare : public Nvidia {
 protected:
  void SetUp() override {
    Nvidia::SetUp();
    ASSERT_TRUE(make_directories(root_ + "/dev").ok());
    std::string trial = root_ + "/dev/trial";
    if (::mknod(trial.c_str(), S_IFCHR, ::gnu_dev_makedev(195, 0)) != 0)
      GTEST_SKIP() << "no right to make device nodes here";
    host("/proc/devices", kDevices);
    accelerator_.metadata.name = kA;
  }
  std::string number(const std::string& name) {
    struct stat seen{};
    if (::stat(cat(root_, "/dev/", name).c_str(), &seen) != 0) return "absent";
    return cat(::gnu_dev_major(seen.st_rdev), ":", ::gnu_dev_minor(seen.st_rdev), " ",
               seen.st_mode & 0777);
  }
  // A program under the root; what it does is shell text.
  void tool(const std::string& name, std::string_view body) {
    host(cat("/usr/bin/", name), cat("#!/bin/sh\n", body, "\n"), 0755);
  }
  api::Accelerator accelerator_;
};

TEST_F(NvidiaPrepare, A2_MissingNodesAreMadeByTheKernelsNumbers) {
  host("/etc/cdi/nvidia.yaml", spec(kA));
  Status prepared = provider_->prepare(accelerator_);
  ASSERT_TRUE(prepared.ok()) << prepared.error().text();
  EXPECT_EQ(number("nvidiactl"), cat("195:255 ", 0666));
  EXPECT_EQ(number("nvidia1"), cat("195:1 ", 0666)) << "the driver's minor, not our index";
  EXPECT_EQ(number("nvidia-uvm"), cat("509:0 ", 0666));
  EXPECT_EQ(number("nvidia-uvm-tools"), cat("509:1 ", 0666));
  EXPECT_EQ(number("nvidia0"), "absent");
  // A1: systemd looks devices up here.
  EXPECT_EQ(number("char/195:1"), number("nvidia1"));
  EXPECT_TRUE(provider_->prepare(accelerator_).ok()) << "twice is as good as once";
  auto edits = cdi::Registry::load(cdi::folders(provider_->cdi_folders(), root_), root_)
                   .resolve({cat("nvidia.com/gpu=", kA)});
  ASSERT_TRUE(edits.ok()) << edits.error().text();
  EXPECT_EQ(edits->deviceNodes.size(), 3u);
}

TEST_F(NvidiaPrepare, A2_NodesAreAsTheDriversParametersSay) {
  host("/etc/cdi/nvidia.yaml", spec(kA));
  host("/proc/driver/nvidia/params", "ResmanDebugLevel: 1\nDeviceFileMode: 432\n");
  ASSERT_TRUE(provider_->prepare(accelerator_).ok());
  EXPECT_EQ(number("nvidia1"), cat("195:1 ", 0660));
}

TEST_F(NvidiaPrepare, A2_NvidiaModprobeGoesFirst) {
  host("/etc/cdi/nvidia.yaml", spec(kA));
  tool("nvidia-modprobe", cat("echo \"$@\" >>", root_, "/calls\ncase \"$*\" in\n", "'-c 1') mknod ",
                              root_, "/dev/nvidia1 c 195 1;;\nesac"));
  ASSERT_TRUE(provider_->prepare(accelerator_).ok());
  EXPECT_EQ(*read_file(root_ + "/calls"), "-c 255\n-c 1\n-u -c 0\n-u -c 0\n");
  EXPECT_NE(number("nvidia-uvm"), "absent");
}

TEST_F(NvidiaPrepare, A2_NoDriverInTheKernelSaysWhatToDo) {
  host("/proc/devices", "Character devices:\n195 nvidia\n\nBlock devices:\n509 nvidia-uvm\n");
  auto refused = provider_->prepare(accelerator_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text(),
            "/dev/nvidia-uvm is missing and the kernel has no driver nvidia-uvm (install "
            "nvidia-modprobe, or run modprobe nvidia-uvm)");
}

TEST_F(NvidiaPrepare, A12_WithoutToolkitTheReasonSaysWhatToInstall) {
  auto refused = provider_->prepare(accelerator_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            cat("no CDI spec describes nvidia.com/gpu=", kA, " and nvidia-ctk is missing"));
  EXPECT_NE(refused.error().hint.find("install nvidia-container-toolkit"), std::string::npos);
}

TEST_F(NvidiaPrepare, A12_ToolkitWritesTheSpecOncePerDriverVersion) {
  host("/spec.yaml", spec(kA));
  tool("nvidia-ctk",
       cat("echo \"$@\" >>", root_, "/calls\n", "for a; do case $a in --output=*) cp ", root_,
           "/spec.yaml \"${a#--output=}\";; esac; done"));
  for (int round = 0; round < 2; ++round) {
    Status prepared = provider_->prepare(accelerator_);
    ASSERT_TRUE(prepared.ok()) << prepared.error().text();
  }
  std::string folder = provider_->cdi_folders().at(0);
  EXPECT_EQ(*read_file(root_ + "/calls"),
            cat("cdi generate --format=yaml --device-name-strategy=uuid --output=", folder,
                "/nvidia-550.54.15.yaml.draft\n"));
  EXPECT_TRUE(cdi::Registry::load({folder}).has(cat("nvidia.com/gpu=", kA)));
  // Another driver has other libraries.
  script("driver 560.28.03\n" + two_devices());
  scan();
  ASSERT_TRUE(provider_->prepare(accelerator_).ok());
  EXPECT_FALSE(exists(folder + "/nvidia-550.54.15.yaml"));
  EXPECT_TRUE(exists(folder + "/nvidia-560.28.03.yaml"));
  // The machine's own spec, once there, is the one that counts.
  host("/var/run/cdi/nvidia.yaml", spec(kA));
  ASSERT_TRUE(provider_->prepare(accelerator_).ok());
  EXPECT_FALSE(exists(folder + "/nvidia-560.28.03.yaml"));
}

TEST_F(NvidiaPrepare, A12_ToolkitThatFailsIsQuoted) {
  tool("nvidia-ctk", "echo 'failed to initialize NVML' >&2; exit 1");
  auto refused = provider_->prepare(accelerator_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "nvidia-ctk cdi generate failed with exit code 1: 'failed to initialize NVML'");
  host("/spec.yaml", spec(kB));
  tool("nvidia-ctk", cat("for a; do case $a in --output=*) cp ", root_,
                         "/spec.yaml \"${a#--output=}\";; esac; done"));
  refused = provider_->prepare(accelerator_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("does not describe"), std::string::npos);
}

}  // namespace
}  // namespace tessera::accel::nvidia
