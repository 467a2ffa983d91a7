#pragma once
// What a CDI spec file holds (Container Device Interface, specification 1.1.0), field by field.
// Names are those of the specification.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/schema.h"
#include "base/result.h"

namespace tessera::accel::cdi {

using schema::field;

// The newest version of the specification that this build knows.
inline constexpr std::string_view kCurrentVersion = "1.1.0";

struct DeviceNode {
  std::string path;
  std::string hostPath;
  std::string type;
  int64_t major = 0;
  int64_t minor = 0;
  std::optional<int64_t> fileMode;
  std::string permissions;
  std::optional<int64_t> uid;
  std::optional<int64_t> gid;

  bool operator==(const DeviceNode&) const = default;
  static constexpr std::string_view kTypeName = "DeviceNode";
  static constexpr auto fields() {
    return std::tuple(
        field("path", &DeviceNode::path, "Path in the container.",
              {.required = true, .format = schema::Format::kAbsolutePath}),
        field("hostPath", &DeviceNode::hostPath, "Path on the host; `path` when empty. 0.5.0.",
              {.format = schema::Format::kAbsolutePath}),
        field("type", &DeviceNode::type, "b, c, u or p; that of the node on the host when empty."),
        field("major", &DeviceNode::major, "Major number; that of the node on the host when 0.",
              {.minimum = 0, .maximum = 4095}),
        field("minor", &DeviceNode::minor, "Minor number.", {.minimum = 0, .maximum = 1048575}),
        field("fileMode", &DeviceNode::fileMode, "Permission bits.",
              {.minimum = 0, .maximum = 07777}),
        field("permissions", &DeviceNode::permissions,
              "For the device cgroup: of r, w and m, or none. rwm when empty."),
        field("uid", &DeviceNode::uid, "Owner.", {.minimum = 0, .maximum = 4294967295}),
        field("gid", &DeviceNode::gid, "Group.", {.minimum = 0, .maximum = 4294967295}));
  }
};
static_assert(schema::complete<DeviceNode>());

struct Mount {
  std::string hostPath;
  std::string containerPath;
  std::string type;
  std::vector<std::string> options;

  bool operator==(const Mount&) const = default;
  static constexpr std::string_view kTypeName = "Mount";
  static constexpr auto fields() {
    return std::tuple(field("hostPath", &Mount::hostPath, "Source.", {.required = true}),
                      field("containerPath", &Mount::containerPath, "Target.",
                            {.required = true, .format = schema::Format::kAbsolutePath}),
                      field("type", &Mount::type, "Type of file system. 0.4.0."),
                      field("options", &Mount::options, "Mount options."));
  }
};
static_assert(schema::complete<Mount>());

struct Hook {
  std::string hookName;
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<int64_t> timeout;

  bool operator==(const Hook&) const = default;
  static constexpr std::string_view kTypeName = "Hook";
  static constexpr auto fields() {
    return std::tuple(
        field("hookName", &Hook::hookName, "When it runs.", {.required = true}),
        field("path", &Hook::path, "Program on the host.",
              {.required = true, .format = schema::Format::kAbsolutePath}),
        field("args", &Hook::args, "Its argv, from argv[0]."),
        field("env", &Hook::env, "Its environment, NAME=VALUE."),
        field("timeout", &Hook::timeout, "Seconds; no limit when absent.", {.minimum = 1}));
  }
};
static_assert(schema::complete<Hook>());

struct IntelRdt {
  std::string closID;
  std::string l3CacheSchema;
  std::string memBwSchema;
  std::vector<std::string> schemata;
  bool enableMonitoring = false;

  bool operator==(const IntelRdt&) const = default;
  static constexpr std::string_view kTypeName = "IntelRdt";
  static constexpr auto fields() {
    return std::tuple(
        field("closID", &IntelRdt::closID, "Class of service."),
        field("l3CacheSchema", &IntelRdt::l3CacheSchema, "L3 cache schema."),
        field("memBwSchema", &IntelRdt::memBwSchema, "Memory bandwidth schema."),
        field("schemata", &IntelRdt::schemata, "Schemata of the class. 1.1.0."),
        field("enableMonitoring", &IntelRdt::enableMonitoring, "Monitoring group. 1.1.0."));
  }
};
static_assert(schema::complete<IntelRdt>());

struct NetDevice {
  std::string hostInterfaceName;
  std::string name;

  bool operator==(const NetDevice&) const = default;
  static constexpr std::string_view kTypeName = "NetDevice";
  static constexpr auto fields() {
    return std::tuple(field("hostInterfaceName", &NetDevice::hostInterfaceName,
                            "Interface of the host.", {.required = true}),
                      field("name", &NetDevice::name, "Its name inside.", {.required = true}));
  }
};
static_assert(schema::complete<NetDevice>());

struct ContainerEdits {
  std::vector<std::string> env;
  std::vector<DeviceNode> deviceNodes;
  std::vector<NetDevice> netDevices;
  std::vector<Hook> hooks;
  std::vector<Mount> mounts;
  std::optional<IntelRdt> intelRdt;
  std::vector<int64_t> additionalGids;

  bool operator==(const ContainerEdits&) const = default;
  static constexpr std::string_view kTypeName = "ContainerEdits";
  static constexpr auto fields() {
    return std::tuple(
        field("env", &ContainerEdits::env, "Environment, NAME=VALUE."),
        field("deviceNodes", &ContainerEdits::deviceNodes, "Device nodes."),
        field("netDevices", &ContainerEdits::netDevices, "Network interfaces to move. 1.1.0."),
        field("hooks", &ContainerEdits::hooks, "OCI hooks."),
        field("mounts", &ContainerEdits::mounts, "Mounts."),
        field("intelRdt", &ContainerEdits::intelRdt, "Cache and bandwidth classes. 0.7.0."),
        field("additionalGids", &ContainerEdits::additionalGids,
              "Supplementary groups of the process; 0 is ignored. 0.7.0."));
  }
};
static_assert(schema::complete<ContainerEdits>());

struct Device {
  std::string name;
  std::map<std::string, std::string> annotations;
  ContainerEdits containerEdits;

  bool operator==(const Device&) const = default;
  static constexpr std::string_view kTypeName = "Device";
  static constexpr auto fields() {
    return std::tuple(
        field("name", &Device::name, "Unique in the kind.", {.required = true}),
        field("annotations", &Device::annotations, "For people and tools. 0.6.0.",
              {.key_format = schema::Format::kLabelKey}),
        field("containerEdits", &Device::containerEdits, "When this device is asked for."));
  }
};
static_assert(schema::complete<Device>());

struct Spec {
  std::string cdiVersion;
  std::string kind;
  std::map<std::string, std::string> annotations;
  std::vector<Device> devices;
  ContainerEdits containerEdits;

  bool operator==(const Spec&) const = default;
  static constexpr std::string_view kTypeName = "Spec";
  static constexpr auto fields() {
    return std::tuple(
        field("cdiVersion", &Spec::cdiVersion, "Version of the specification.",
              {.required = true, .example = "0.6.0"}),
        field("kind", &Spec::kind, "vendor/class.",
              {.required = true, .example = "nvidia.com/gpu"}),
        field("annotations", &Spec::annotations, "For people and tools. 0.6.0.",
              {.key_format = schema::Format::kLabelKey}),
        field("devices", &Spec::devices, "The devices, at least one.", {.required = true}),
        field("containerEdits", &Spec::containerEdits, "When any of the devices is asked for."));
  }
};
static_assert(schema::complete<Spec>());

// JSON or YAML text of a spec file, checked in full: unknown fields, names, limits, and that
// `cdiVersion` is a known one that has every field that is used. The error names the field.
Result<Spec> parse(std::string_view text, bool is_json);

// What parse() checks beyond types.
Status check(const Spec& spec);

// The lowest version of the specification that has every field which `spec` uses.
std::string minimum_version(const Spec& spec);

// Sets `cdiVersion` to the lowest that will do, checks, and writes `path` as JSON, making its
// folder. Readers see the old or the new file, never half of one.
Status write_spec(Spec spec, const std::string& path);

// "nvidia.com/gpu=0" in its parts.
struct QualifiedName {
  std::string kind;
  std::string device;
};
Result<QualifiedName> parse_name(std::string_view name);

}  // namespace tessera::accel::cdi
