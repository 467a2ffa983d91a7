// CDI: what a spec may say, which folder wins, and what a container gets.

#include "accel/cdi.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::accel::cdi {
namespace {

// A spec with one device; `fields` go beside its name, `top` beside the devices.
std::string with(std::string_view version, std::string_view fields, std::string_view top = {}) {
  return cat(R"({"cdiVersion": ")", version, R"(", "kind": "acme.com/gpu", )", top,
             R"("devices": [{"name": "one", )", fields, "}]}");
}
std::string edits(std::string_view version, std::string_view inside) {
  return with(version, cat(R"("containerEdits": {)", inside, "}"));
}
constexpr std::string_view kEnv = R"("containerEdits": {"env": ["A=1"]})";

struct Invalid {
  std::string_view about;
  std::string text;
  std::string_view field;
  std::string_view message;
};

TEST(CdiSpec, EachKindOfMistakeNamesItsField) {
  const Invalid cases[] = {
      {"no version", R"({"kind": "a.b/c", "devices": []})", "cdiVersion", "required"},
      {"odd version", with("0.9.0", kEnv), "cdiVersion", "not a known version"},
      {"future", with("2.0.0", kEnv), "cdiVersion", "1.1.0 is the newest"},
      {"ancient", with("0.2.0", kEnv), "cdiVersion", "need 0.3.0"},
      {"too low", edits("0.4.0", R"("deviceNodes": [{"path": "/d", "hostPath": "/h"}])"),
       "cdiVersion", "need 0.5.0 or newer"},
      {"no kind", R"({"cdiVersion": "0.6.0", "devices": [{"name": "a"}]})", "kind", "required"},
      {"bad kind", R"({"cdiVersion": "0.6.0", "kind": "gpu", "devices": [{"name": "a"}]})", "kind",
       "vendor/class"},
      {"two slashes", R"({"cdiVersion": "0.6.0", "kind": "a/b/c", "devices": [{"name": "a"}]})",
       "kind", "vendor/class"},
      {"no devices", R"({"cdiVersion": "0.6.0", "kind": "a.b/c", "devices": []})", "devices",
       "at least 1"},
      {"unknown at the top", with("0.6.0", kEnv, R"("device": 1, )"), "device", "unknown field"},
      {"unknown inside", edits("0.6.0", R"("deviceNode": [])"),
       "devices[0].containerEdits.deviceNode", "unknown field"},
      {"dropped in 1.1.0", edits("1.1.0", R"("intelRdt": {"enableCMT": true})"),
       "devices[0].containerEdits.intelRdt.enableCMT", "unknown field"},
      {"bad name", R"({"cdiVersion": "0.6.0", "kind": "a.b/c", "devices": [{"name": "-a"}]})",
       "devices[0].name", "letter or digit"},
      {"same name twice",
       R"({"cdiVersion": "0.6.0", "kind": "a.b/c", "containerEdits": {"env": ["A=1"]},
           "devices": [{"name": "a"}, {"name": "a"}]})",
       "devices[1].name", "given twice"},
      {"edits nothing", R"({"cdiVersion": "0.6.0", "kind": "a.b/c", "devices": [{"name": "a"}]})",
       "devices[0].containerEdits", "nothing would be edited"},
      {"env without =", edits("0.6.0", R"("env": ["A"])"), "devices[0].containerEdits.env[0]",
       "NAME=VALUE"},
      {"env without name", edits("0.6.0", R"("env": ["A=1", "=2"])"),
       "devices[0].containerEdits.env[1]", "NAME=VALUE"},
      {"node without path", edits("0.6.0", R"("deviceNodes": [{"type": "c"}])"),
       "devices[0].containerEdits.deviceNodes[0].path", "required"},
      {"relative node", edits("0.6.0", R"("deviceNodes": [{"path": "dev/x"}])"),
       "devices[0].containerEdits.deviceNodes[0].path", "absolute"},
      {"node's type", edits("0.6.0", R"("deviceNodes": [{"path": "/d", "type": "char"}])"),
       "devices[0].containerEdits.deviceNodes[0].type", "not one of"},
      {"permissions", edits("0.6.0", R"("deviceNodes": [{"path": "/d", "permissions": "rx"}])"),
       "devices[0].containerEdits.deviceNodes[0].permissions", "r, w and m"},
      {"minor", edits("0.6.0", R"("deviceNodes": [{"path": "/d", "minor": -1}])"),
       "devices[0].containerEdits.deviceNodes[0].minor", "at least 0"},
      {"mount without target", edits("0.6.0", R"("mounts": [{"hostPath": "/a"}])"),
       "devices[0].containerEdits.mounts[0].containerPath", "required"},
      {"hook's name", edits("0.6.0", R"("hooks": [{"hookName": "onStart", "path": "/h"}])"),
       "devices[0].containerEdits.hooks[0].hookName", "not one of prestart"},
      {"hook's path", edits("0.6.0", R"("hooks": [{"hookName": "poststop", "path": "h"}])"),
       "devices[0].containerEdits.hooks[0].path", "absolute"},
      {"hook's timeout",
       edits("0.6.0", R"("hooks": [{"hookName": "poststop", "path": "/h", "timeout": 0}])"),
       "devices[0].containerEdits.hooks[0].timeout", "at least 1"},
      {"hook's env",
       edits("0.6.0", R"("hooks": [{"hookName": "poststop", "path": "/h", "env": ["x"]}])"),
       "devices[0].containerEdits.hooks[0].env[0]", "NAME=VALUE"},
      {"group", edits("0.7.0", R"("additionalGids": [4294967296])"),
       "devices[0].containerEdits.additionalGids[0]", "not a group id"},
      {"class of service", edits("0.7.0", R"("intelRdt": {"closID": "a/b"})"),
       "devices[0].containerEdits.intelRdt.closID", "name of a folder"},
      {"interface twice",
       edits("1.1.0", R"("netDevices": [{"hostInterfaceName": "eth0", "name": "a"},
                                        {"hostInterfaceName": "eth0", "name": "b"}])"),
       "devices[0].containerEdits.netDevices[1].hostInterfaceName", "given twice"},
      {"annotation that is no string", with("0.6.0", kEnv, R"("annotations": {"a": 1}, )"),
       "annotations.a", "string"},
  };
  for (const Invalid& row : cases) {
    auto parsed = parse(row.text, true);
    ASSERT_FALSE(parsed.ok()) << row.about;
    EXPECT_EQ(parsed.error().field, row.field) << row.about;
    EXPECT_TRUE(contains_ignoring_case(parsed.error().message, row.message))
        << row.about << ": " << parsed.error().text();
  }
}

TEST(CdiSpec, VersionIsTheLowestThatHasTheFields) {
  const std::pair<std::string_view, std::string> cases[] = {
      {"0.3.0", with("1.1.0", kEnv)},
      {"0.4.0", edits("1.1.0", R"("mounts": [{"hostPath": "/a", "containerPath": "/b",
                                              "type": "none"}])")},
      {"0.5.0", edits("1.1.0", R"("deviceNodes": [{"path": "/d", "hostPath": "/h"}])")},
      {"0.5.0", R"({"cdiVersion": "1.1.0", "kind": "a.b/c", "containerEdits": {"env": ["A=1"]},
                    "devices": [{"name": "0:1"}]})"},
      {"0.6.0", with("1.1.0", kEnv, R"("annotations": {"a": "1"}, )")},
      {"0.6.0", R"({"cdiVersion": "1.1.0", "kind": "a.b/c.d", "containerEdits": {"env": ["A=1"]},
                    "devices": [{"name": "a"}]})"},
      {"0.7.0", edits("1.1.0", R"("additionalGids": [44])")},
      {"0.7.0", edits("1.1.0", R"("intelRdt": {"closID": "gold"})")},
      {"1.1.0", edits("1.1.0", R"("intelRdt": {"schemata": ["L3:0=f"]})")},
      {"1.1.0", edits("1.1.0", R"("netDevices": [{"hostInterfaceName": "e", "name": "n"}])")},
  };
  for (const auto& [version, text] : cases) {
    auto spec = parse(text, true);
    ASSERT_TRUE(spec.ok()) << spec.error().text();
    EXPECT_EQ(minimum_version(*spec), version) << text;
    spec->cdiVersion = cat("v", version);
    EXPECT_TRUE(check(*spec).ok()) << text;
  }
}

TEST(CdiSpec, NamesHaveThreeParts) {
  auto name = parse_name("nvidia.com/gpu=0:1");
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(name->kind, "nvidia.com/gpu");
  EXPECT_EQ(name->device, "0:1");
  for (std::string_view bad : {"gpu", "nvidia.com/gpu", "nvidia.com/gpu=", "=0", "/dev/nvidia0",
                               "nvidia.com=0", "nvidia.com/gpu=a b", "9.com/gpu=0"})
    EXPECT_FALSE(parse_name(bad).ok()) << bad;
}

class CdiFolders : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "tessera-cdi-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(make_directories(std::filesystem::path(root_ + path).parent_path()).ok());
    ASSERT_TRUE(write_file(root_ + path, text).ok());
  }
  Registry load() { return Registry::load(folders({root_ + "/extra"}, root_), root_); }

  std::string root_;
};

TEST_F(CdiFolders, NoFolderMeansNoDevice) {
  Registry registry = load();
  EXPECT_TRUE(registry.names().empty());
  EXPECT_TRUE(registry.problems().empty());
  auto failed = registry.resolve({"acme.com/gpu=0"});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::kNotFound);
  EXPECT_TRUE(failed.error().message.starts_with("no CDI spec describes acme.com/gpu (looked in "))
      << failed.error().message;
}

TEST_F(CdiFolders, BrokenFileDoesNotHideTheOthers) {
  put("/etc/cdi/bad.yaml",
      "cdiVersion: 0.6.0\nkind: a.com/x\ndevices:\n- name: one\n  containerEdit: {}\n");
  put("/etc/cdi/worse.json", "{");
  put("/etc/cdi/notes.txt", "not a spec");
  put("/etc/cdi/good.json", with("0.6.0", kEnv));
  Registry registry = load();
  EXPECT_EQ(registry.names(), std::vector<std::string>{"acme.com/gpu=one"});
  ASSERT_EQ(registry.problems().size(), 2u);
  EXPECT_NE(registry.problems()[0].find("/etc/cdi/bad.yaml: devices[0].containerEdit: unknown "
                                        "field (line 5)"),
            std::string::npos)
      << registry.problems()[0];
  EXPECT_NE(registry.problems()[1].find("/etc/cdi/worse.json"), std::string::npos);
  EXPECT_TRUE(registry.resolve({"acme.com/gpu=one"}).ok());
}

TEST_F(CdiFolders, LaterFolderWins) {
  put("/etc/cdi/a.json", edits("0.6.0", R"("env": ["FROM=etc"])"));
  put("/var/run/cdi/a.json", edits("0.6.0", R"("env": ["FROM=run"])"));
  EXPECT_EQ(load().resolve({"acme.com/gpu=one"})->env, std::vector<std::string>{"FROM=run"});
  put("/extra/a.json", edits("0.6.0", R"("env": ["FROM=extra"])"));
  EXPECT_EQ(load().resolve({"acme.com/gpu=one"})->env, std::vector<std::string>{"FROM=extra"});
  EXPECT_TRUE(load().problems().empty());
}

TEST_F(CdiFolders, TwiceInOneFolderIsAnErrorOfThatDeviceOnly) {
  put("/etc/cdi/a.json", edits("0.6.0", R"("env": ["FROM=a"])"));
  put("/etc/cdi/b.json", R"({"cdiVersion": "0.6.0", "kind": "acme.com/gpu", "devices": [
      {"name": "one", "containerEdits": {"env": ["FROM=b"]}},
      {"name": "two", "containerEdits": {"env": ["FROM=b"]}}]})");
  Registry registry = load();
  ASSERT_EQ(registry.problems().size(), 1u);
  auto failed = registry.resolve({"acme.com/gpu=one"});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::kConflict);
  EXPECT_NE(failed.error().message.find("/etc/cdi/b.json"), std::string::npos);
  EXPECT_FALSE(registry.has("acme.com/gpu=one"));
  EXPECT_TRUE(registry.resolve({"acme.com/gpu=two"}).ok());
  // A folder that goes before settles it.
  put("/var/run/cdi/c.json", edits("0.6.0", R"("env": ["FROM=c"])"));
  EXPECT_EQ(load().resolve({"acme.com/gpu=one"})->env, std::vector<std::string>{"FROM=c"});
}

TEST_F(CdiFolders, UnknownDeviceSaysWhichThereAre) {
  put("/etc/cdi/a.json", with("0.6.0", kEnv));
  auto failed = load().resolve({"acme.com/gpu=7"});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message,
            "there is no CDI device acme.com/gpu=7; known are 'acme.com/gpu=one'");
}

// The shape of a vendor's spec: edits for all devices, links and hooks, several devices.
constexpr std::string_view kVendor = R"(
cdiVersion: 0.7.0
kind: acme.com/gpu
containerEdits:
  env: [ACME_VISIBLE=void, MODE=shared]
  deviceNodes:
  - {path: /dev/acmectl, type: c, major: 60, minor: 255}
  mounts:
  - {hostPath: /usr/lib/libacme.so.1, containerPath: /usr/lib/libacme.so.1,
     options: [ro, nosuid, nodev, bind]}
  hooks:
  - {hookName: createContainer, path: /usr/bin/acme-hook,
     args: [acme-hook, update-ldcache], env: [DEBUG=0], timeout: 5}
  additionalGids: [0, 44]
devices:
- name: "0"
  containerEdits:
    env: [MODE=zero]
    deviceNodes: [{path: /dev/acme0, type: c, major: 60, minor: 0, permissions: rw, fileMode: 438}]
- name: "1"
  containerEdits:
    deviceNodes: [{path: /dev/acme1, type: c, major: 60, minor: 1, permissions: none, uid: 5}]
    additionalGids: [44, 45]
)";

TEST_F(CdiFolders, SpecsOwnEditsComeOnceAndDevicesOwnAfterThem) {
  put("/etc/cdi/acme.yaml", kVendor);
  Registry registry = load();
  ASSERT_TRUE(registry.problems().empty()) << registry.problems()[0];
  auto both = registry.resolve({"acme.com/gpu=0", "acme.com/gpu=1", "acme.com/gpu=0"});
  ASSERT_TRUE(both.ok()) << both.error().text();
  EXPECT_EQ(both->env, (std::vector<std::string>{"ACME_VISIBLE=void", "MODE=zero"}));
  ASSERT_EQ(both->deviceNodes.size(), 3u);
  EXPECT_EQ(both->deviceNodes[0].path, "/dev/acmectl");
  EXPECT_EQ(both->deviceNodes[0].permissions, "rwm");
  EXPECT_EQ(both->deviceNodes[1].hostPath, "/dev/acme0");
  EXPECT_EQ(both->deviceNodes[1].permissions, "rw");
  EXPECT_EQ(both->deviceNodes[1].fileMode, 0666);
  EXPECT_EQ(both->deviceNodes[2].permissions, "");
  EXPECT_EQ(both->deviceNodes[2].uid, 5);
  ASSERT_EQ(both->hooks.size(), 1u);
  EXPECT_EQ(both->hooks[0].timeout, 5);
  EXPECT_EQ(both->mounts.size(), 1u);
  EXPECT_EQ(both->additionalGids, (std::vector<int64_t>{44, 45}));
  auto one = registry.resolve({"acme.com/gpu=1"});
  EXPECT_EQ(one->deviceNodes.size(), 2u) << "the other device's node must stay out";
}

TEST_F(CdiFolders, NumbersAreThoseOfTheHostsNode) {
  ASSERT_TRUE(make_directories(root_ + "/dev").ok());
  std::string node = root_ + "/dev/acme-host";
  if (::mknod(node.c_str(), S_IFCHR | 0640, ::gnu_dev_makedev(61, 7)) != 0)
    GTEST_SKIP() << "no right to make device nodes here";
  put("/etc/cdi/a.json",
      edits("0.6.0", R"("deviceNodes": [{"path": "/dev/acme", "hostPath": "/dev/acme-host"}])"));
  auto resolved = load().resolve({"acme.com/gpu=one"});
  ASSERT_TRUE(resolved.ok()) << resolved.error().text();
  const DeviceNode& got = resolved->deviceNodes.at(0);
  EXPECT_EQ(got.path, "/dev/acme");
  EXPECT_EQ(got.type, "c");
  EXPECT_EQ(got.major, 61);
  EXPECT_EQ(got.minor, 7);
  EXPECT_EQ(got.fileMode, 0640);
}

TEST_F(CdiFolders, NodeThatIsNotThereFailsWithItsName) {
  put("/etc/cdi/a.json", edits("0.6.0", R"("deviceNodes": [{"path": "/dev/acme9"}])"));
  put("/dev/plain", "");
  put("/etc/cdi/b.json", R"({"cdiVersion": "0.6.0", "kind": "acme.com/file", "devices": [
      {"name": "one", "containerEdits": {"deviceNodes": [{"path": "/dev/plain"}]}}]})");
  auto absent = load().resolve({"acme.com/gpu=one"});
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().message, "device node /dev/acme9: No such file or directory");
  auto plain = load().resolve({"acme.com/file=one"});
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().message, "/dev/plain is not a device node");
}

TEST_F(CdiFolders, WhatCannotBeAppliedIsRefusedNotDropped) {
  put("/etc/cdi/a.json",
      edits("1.1.0", R"("netDevices": [{"hostInterfaceName": "eth5", "name": "rdma0"}])"));
  put("/etc/cdi/b.json", R"({"cdiVersion": "0.7.0", "kind": "acme.com/cpu", "devices": [
      {"name": "one", "containerEdits": {"intelRdt": {"closID": "gold"}}}]})");
  auto net = load().resolve({"acme.com/gpu=one"});
  ASSERT_FALSE(net.ok());
  EXPECT_NE(net.error().message.find("eth5"), std::string::npos);
  auto rdt = load().resolve({"acme.com/cpu=one"});
  ASSERT_FALSE(rdt.ok());
  EXPECT_NE(rdt.error().message.find("Intel RDT"), std::string::npos);
}

TEST_F(CdiFolders, WrittenSpecReadsBack) {
  auto spec = parse(kVendor, false);
  ASSERT_TRUE(spec.ok()) << spec.error().text();
  std::string path = root_ + "/extra/sub/acme.json";
  spec->cdiVersion = "1.1.0";
  ASSERT_TRUE(write_spec(*spec, path).ok());
  auto back = parse(*read_file(path), true);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->cdiVersion, "0.7.0");
  spec->cdiVersion = "0.7.0";
  EXPECT_EQ(*back, *spec);
  spec->devices.clear();
  EXPECT_FALSE(write_spec(*spec, path).ok());
  EXPECT_EQ(parse(*read_file(path), true)->devices.size(), 2u) << "a wrong spec is not written";
}

}  // namespace
}  // namespace tessera::accel::cdi
