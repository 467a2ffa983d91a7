// Simulated devices: what a file gives, what befalls them, and what a container gets.

#include "accel/sim/provider.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>

#include "accel/cdi.h"
#include "base/file.h"
#include "base/text.h"

namespace tessera::accel::sim {
namespace {

class Sim : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "tessera-sim-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    provider_ = std::make_unique<SimProvider>(
        ProviderOptions{.data_folder = root_ + "/data", .sim_file = root_ + "/sim.yaml"},
        [this] { return now_ns_; });
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void file(std::string_view text) { ASSERT_TRUE(write_file(root_ + "/sim.yaml", text).ok()); }
  std::vector<api::Accelerator> scan() {
    auto inventory = provider_->scan();
    EXPECT_TRUE(inventory.ok()) << inventory.error().text();
    return inventory.ok() ? inventory->accelerators : std::vector<api::Accelerator>{};
  }
  // "HFH": health of each device, as this scan sees it.
  std::string health() {
    std::string out;
    for (const api::Accelerator& device : scan())
      out += device.status.health == api::Health::kHealthy ? 'H' : 'F';
    return out;
  }

  int64_t now_ns_ = 1'000'000'000;
  std::string root_;
  std::unique_ptr<SimProvider> provider_;
};

TEST_F(Sim, OneLineIsEnoughAndLoudAboutBeingSimulated) {
  for (std::string_view text : {"2x Tessera-Sim-16G", "2", "2x Tessera-Sim-16G\n"}) {
    file(text);
    auto devices = scan();
    ASSERT_EQ(devices.size(), 2u) << text;
    for (int64_t i = 0; i < 2; ++i) {
      const api::AcceleratorStatus& status = devices[static_cast<size_t>(i)].status;
      EXPECT_TRUE(status.simulated);
      EXPECT_EQ(status.model, "Simulated Tessera-Sim-16G");
      EXPECT_EQ(status.vendor, "sim");
      EXPECT_EQ(status.memory.value, 16 * 1024);
      EXPECT_EQ(status.index, i);
      EXPECT_EQ(status.health, api::Health::kHealthy);
    }
  }
}

TEST_F(Sim, UuidsDependOnSeedAndIndexAlone) {
  file("2x Tessera-Sim-16G");
  auto two = scan();
  file("{devices: [{count: 300000}]}");
  EXPECT_FALSE(provider_->scan().ok());
  file("{devices: [{count: 1, model: Other-80G}, {count: 255}]}");
  auto many = scan();
  EXPECT_EQ(many[0].metadata.name, two[0].metadata.name);
  EXPECT_EQ(many[1].metadata.name, two[1].metadata.name);
  std::set<std::string> names;
  for (const api::Accelerator& device : many) names.insert(device.metadata.name);
  EXPECT_EQ(names.size(), 256u);
  EXPECT_TRUE(two[0].metadata.name.starts_with("SIM-"));
  EXPECT_EQ(two[0].metadata.name.size(), 40u);
  file("{seed: other, devices: [{}]}");
  EXPECT_FALSE(names.contains(scan()[0].metadata.name));
}

TEST_F(Sim, GroupsAndLinks) {
  file(R"(
devices:
- {count: 2, model: Tessera-Sim-80G, numaNode: 0, link: NV12}
- {count: 2, model: Small, memory: 8Gi, numaNode: 1, computeCapability: "7.5"}
links:
- {between: [2, 1], type: PIX}
)");
  auto devices = scan();
  ASSERT_EQ(devices.size(), 4u);
  EXPECT_EQ(devices[3].status.memory.value, 8 * 1024);
  EXPECT_EQ(devices[3].status.computeCapability, "7.5");
  EXPECT_EQ(devices[3].status.numaNode, 1);
  auto type = [&](size_t from, size_t to) {
    for (const api::Link& link : devices[from].status.links)
      if (link.peer == devices[to].metadata.name) return link.type;
    return std::string("none");
  };
  EXPECT_EQ(type(0, 1), "NV12");
  EXPECT_EQ(type(1, 2), "PIX");
  EXPECT_EQ(type(2, 1), "PIX");
  EXPECT_EQ(type(0, 2), "SYS");
  EXPECT_EQ(type(2, 3), "NODE");
}

TEST_F(Sim, MistakesNameFieldAndLine) {
  struct Case {
    std::string_view text, field, message;
  };
  const Case cases[] = {
      {"devices:\n- {count: 1}\n- {cuont: 1}\n", "devices[1].cuont", "unknown field (line 3)"},
      {"devices:\n- {count: 0}\n", "devices[0].count", "at least 1, not 0 (line 2)"},
      {"devices:\n- model: Odd\n", "devices[0].memory",
       "does not end in its size, like -16G (line 2)"},
      {"devices: []\n", "devices", "describes 0 devices; it must be 1 to 256 (line 1)"},
      {"seed: x\n", "devices", "is required"},
      {"devices: [{}]\nlinks:\n- {between: [0, 1], type: NV1}\n", "links[0].between",
       "two different indices of 0 to 0 (line 3)"},
      {"devices: [{}]\nfaults:\n- {device: 1, is: Lost}\n", "faults[0].device",
       "is 1, but the file has 1 device, counted from 0 (line 3)"},
      {"devices: [{}]\nfaults:\n- {device: 0, is: lost}\n", "faults[0].is", "not one of"},
      {"devices: [{}]\nfaults:\n- {device: 0, is: Lost, fromScan: 3, toScan: 2}\n",
       "faults[0].toScan", "before fromScan (line 3)"},
      {"devices: [{}]\nfaults:\n- {device: 0, is: Slow, delay: 11s}\n", "faults[0].delay",
       "at most 10s, not 11s"},
      {"many", "", "'many' must be a count of 1 to 256 and a model"},
      {"2x Huge", "devices[0].memory", "does not end in its size"},
      {"devices: [", "", "line 1"},
  };
  for (const Case& row : cases) {
    file(row.text);
    auto failed = provider_->scan();
    ASSERT_FALSE(failed.ok()) << row.text;
    EXPECT_EQ(failed.error().field, row.field) << row.text;
    EXPECT_NE(failed.error().message.find(row.message), std::string::npos)
        << failed.error().message;
    EXPECT_TRUE(failed.error().message.starts_with(root_ + "/sim.yaml: "));
  }
  file("1");
  EXPECT_EQ(health(), "H") << "a repaired file is read again";
}

TEST_F(Sim, D6_D7_FaultsComeAndGoByScan) {
  file(R"(
devices: [{count: 3}]
faults:
- {device: 1, is: Fenced, fromScan: 2, toScan: 3, message: Xid 48}
- {device: 2, is: Lost, fromScan: 4}
)");
  EXPECT_EQ(health(), "HHH");
  EXPECT_EQ(health(), "HFH");
  auto devices = scan();
  EXPECT_EQ(devices[1].status.message, "Xid 48 (simulated)");
  EXPECT_EQ(health(), "HHF") << "C5: a lost device stays in the inventory";
  EXPECT_EQ(scan()[2].status.message, "fell off the bus (simulated)");
}

TEST_F(Sim, FaultsComeAndGoByTime) {
  file("{devices: [{}], faults: [{device: 0, is: Fenced, after: 30s, lasts: 10s}]}");
  EXPECT_EQ(health(), "H");
  now_ns_ += 30'000'000'000;
  EXPECT_EQ(health(), "F");
  now_ns_ += 10'000'000'000;
  EXPECT_EQ(health(), "H");
}

TEST_F(Sim, SlowDeviceIsSlowNotIll) {
  file("{devices: [{}], faults: [{device: 0, is: Slow, delay: 1ms}]}");
  EXPECT_EQ(health(), "H");
}

TEST_F(Sim, A18_FencedOrUnknownDevicesAreRefusedBeforeStart) {
  file("2");
  auto devices = scan();
  EXPECT_TRUE(provider_->prepare(devices[1]).ok());
  file("{devices: [{count: 2}], faults: [{device: 1, is: Lost}]}");
  EXPECT_TRUE(provider_->prepare(devices[0]).ok());
  auto refused = provider_->prepare(devices[1]);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            cat("device ", devices[1].metadata.name, ": fell off the bus (simulated)"));
  file("1");
  EXPECT_FALSE(provider_->prepare(devices[1]).ok());
}

TEST_F(Sim, ContainerGetsTheNodeOfItsDeviceOnly) {
  file("2x Tessera-Sim-16G");
  auto devices = scan();
  auto registry = cdi::Registry::load(provider_->cdi_folders());
  ASSERT_TRUE(registry.problems().empty()) << registry.problems()[0];
  auto edits = registry.resolve({devices[1].status.cdiDevice});
  ASSERT_TRUE(edits.ok()) << edits.error().text();
  ASSERT_EQ(edits->deviceNodes.size(), 1u);
  const cdi::DeviceNode& node = edits->deviceNodes[0];
  EXPECT_EQ(node.path, "/dev/tessera-sim1");
  EXPECT_EQ(node.type, "c");
  EXPECT_EQ(node.major, 60);
  EXPECT_EQ(node.minor, 1);
  EXPECT_EQ(node.permissions, "rw");
  EXPECT_EQ(edits->env,
            std::vector<std::string>{cat("TESSERA_SIM_DEVICE_1=", devices[1].metadata.name)});
  EXPECT_NE(read_file(root_ + "/data/cdi/sim/sim.json")->find("\"cdiVersion\": \"0.3.0\""),
            std::string::npos)
      << "the lowest version that will do, for older readers (A13)";
}

TEST_F(Sim, NoFileMeansNoDevice) {
  SimProvider none({.data_folder = root_}, [] { return int64_t{0}; });
  EXPECT_TRUE(none.scan()->accelerators.empty());
}

}  // namespace
}  // namespace tessera::accel::sim
