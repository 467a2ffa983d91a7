#pragma once
// What a job says of its container beyond program, environment and resources: network, rights,
// devices, ports, health. docker's flags and their meaning, as fields.

#include "api/metadata.h"

namespace tessera::api {

enum class NetworkMode { kProject, kNone, kHost };
constexpr std::array<std::string_view, 3> enum_names(NetworkMode) {
  return {"Project", "None", "Host"};
}

struct HostEntry {
  std::string name;
  std::string address;

  bool operator==(const HostEntry&) const = default;
  static constexpr std::string_view kTypeName = "HostEntry";
  static constexpr auto fields() {
    return std::tuple(field("name", &HostEntry::name, "Name to resolve.",
                            {.required = true, .maximum = 253, .example = "db"}),
                      field("address", &HostEntry::address, "Its IPv4 or IPv6 address.",
                            {.required = true, .maximum = 45, .example = "10.0.0.7"}));
  }
};
static_assert(schema::complete<HostEntry>());

struct NetworkSettings {
  NetworkMode mode = NetworkMode::kProject;
  std::string hostname;
  std::vector<HostEntry> hosts;
  std::vector<std::string> nameServers;
  std::vector<std::string> searchDomains;
  std::vector<std::string> resolverOptions;

  bool operator==(const NetworkSettings&) const = default;
  static constexpr std::string_view kTypeName = "NetworkSettings";
  static constexpr auto fields() {
    return std::tuple(
        field("mode", &NetworkSettings::mode,
              "The project's network, only a loopback, or the node's own network (needs "
              "privileges.hostNetwork of the project)."),
        field("hostname", &NetworkSettings::hostname,
              "Host name inside; the job's name and the replica's number when empty.",
              {.maximum = 63}),
        field("hosts", &NetworkSettings::hosts, "Further lines of /etc/hosts.", {.maximum = 256}),
        field("nameServers", &NetworkSettings::nameServers,
              "Addresses of DNS servers; the node's when empty.",
              {.maximum = 8, .value_maximum = 45}),
        field("searchDomains", &NetworkSettings::searchDomains,
              "Domains in which short names are looked up; the node's when empty.",
              {.maximum = 32, .value_maximum = 253}),
        field("resolverOptions", &NetworkSettings::resolverOptions,
              "Options of resolv.conf; the node's when empty.",
              {.maximum = 32, .value_maximum = 64, .example = "ndots:2"}));
  }
};
static_assert(schema::complete<NetworkSettings>());

struct SecuritySettings {
  std::vector<std::string> addCapabilities;
  std::vector<std::string> dropCapabilities;
  bool readOnlyRoot = false;
  bool unconfined = false;
  bool hostPid = false;
  bool hostIpc = false;
  bool privileged = false;

  bool operator==(const SecuritySettings&) const = default;
  static constexpr std::string_view kTypeName = "SecuritySettings";
  static constexpr auto fields() {
    return std::tuple(
        field("addCapabilities", &SecuritySettings::addCapabilities,
              "Capabilities beyond the default set, or ALL. All but IPC_LOCK and MKNOD need "
              "privileges.capabilities of the project.",
              {.maximum = 64, .value_maximum = 64, .example = "SYS_PTRACE"}),
        field("dropCapabilities", &SecuritySettings::dropCapabilities,
              "Capabilities to take from the default set, or ALL.",
              {.maximum = 64, .value_maximum = 64, .example = "CHOWN"}),
        field("readOnlyRoot", &SecuritySettings::readOnlyRoot,
              "The image's own files cannot be changed."),
        field("unconfined", &SecuritySettings::unconfined,
              "No filter of system calls; needs privileges.unconfined of the project."),
        field("hostPid", &SecuritySettings::hostPid,
              "Sees the processes of the node; needs privileges.hostPid of the project."),
        field("hostIpc", &SecuritySettings::hostIpc,
              "Shares memory and /dev/shm with the node; needs privileges.hostIpc of the project."),
        field("privileged", &SecuritySettings::privileged,
              "All capabilities, no filter of system calls, no masked paths; needs "
              "privileges.privileged of the project. Devices stay those that are allocated."));
  }
};
static_assert(schema::complete<SecuritySettings>());

// Of a project: what its jobs may have that reaches beyond their container. Nothing by default.
struct Privileges {
  std::vector<std::string> capabilities;
  std::vector<std::string> devices;
  bool hostNetwork = false;
  bool hostPid = false;
  bool hostIpc = false;
  bool unconfined = false;
  bool privileged = false;

  bool operator==(const Privileges&) const = default;
  static constexpr std::string_view kTypeName = "Privileges";
  static constexpr auto fields() {
    return std::tuple(
        field("capabilities", &Privileges::capabilities,
              "Capabilities that its jobs may add, or ALL.",
              {.maximum = 64, .value_maximum = 64, .example = "SYS_PTRACE"}),
        field("devices", &Privileges::devices,
              "Devices of the nodes that its jobs may name, each with all below it. Accelerators "
              "are allocated, never named.",
              {.maximum = 64, .format = schema::Format::kAbsolutePath, .example = "/dev/fuse"}),
        field("hostNetwork", &Privileges::hostNetwork, "Its jobs may use the node's network."),
        field("hostPid", &Privileges::hostPid, "Its jobs may see the node's processes."),
        field("hostIpc", &Privileges::hostIpc, "Its jobs may share memory with the node."),
        field("unconfined", &Privileges::unconfined,
              "Its jobs may do without a filter of system calls."),
        field("privileged", &Privileges::privileged,
              "Its jobs may be privileged: as good as root on the node."));
  }
};
static_assert(schema::complete<Privileges>());

struct Ulimit {
  std::string name;
  int64_t soft = 0;
  int64_t hard = 0;

  bool operator==(const Ulimit&) const = default;
  static constexpr std::string_view kTypeName = "Ulimit";
  static constexpr auto fields() {
    return std::tuple(
        field("name", &Ulimit::name, "Name of the limit, as in setrlimit(2), in small letters.",
              {.required = true, .maximum = 16, .example = "nofile"}),
        field("soft", &Ulimit::soft, "What is in force; -1 is unlimited.",
              {.required = true, .minimum = -1}),
        field("hard", &Ulimit::hard, "How far the program may raise it; -1 is unlimited.",
              {.required = true, .minimum = -1}));
  }
};
static_assert(schema::complete<Ulimit>());

struct TmpfsMount {
  std::string target;
  std::optional<MiB> size;
  int64_t mode = 01777;
  bool executable = false;

  bool operator==(const TmpfsMount&) const = default;
  static constexpr std::string_view kTypeName = "TmpfsMount";
  static constexpr auto fields() {
    return std::tuple(
        field("target", &TmpfsMount::target, "Folder in the container.",
              {.required = true, .format = schema::Format::kAbsolutePath, .example = "/scratch"}),
        field("size", &TmpfsMount::size,
              "Most that it holds; all of it counts as memory of the task.",
              {.minimum = 1, .example = "1Gi"}),
        field("mode", &TmpfsMount::mode, "Permissions of the folder; 1023 is octal 1777.",
              {.minimum = 0, .maximum = 07777}),
        field("executable", &TmpfsMount::executable, "Programs in it may be run."));
  }
};
static_assert(schema::complete<TmpfsMount>());

struct DeviceMapping {
  std::string source;
  std::string target;
  std::string permissions = "rwm";

  bool operator==(const DeviceMapping&) const = default;
  static constexpr std::string_view kTypeName = "DeviceMapping";
  static constexpr auto fields() {
    return std::tuple(
        field("source", &DeviceMapping::source,
              "Device of the node; the project must allow it (spec.privileges.devices).",
              {.required = true, .format = schema::Format::kAbsolutePath, .example = "/dev/fuse"}),
        field("target", &DeviceMapping::target, "Where it appears; the same path when empty.",
              {.format = schema::Format::kAbsolutePath}),
        field("permissions", &DeviceMapping::permissions,
              "Some of r (read), w (write), m (make the node).", {.maximum = 3}));
  }
};
static_assert(schema::complete<DeviceMapping>());

enum class Protocol { kTcp, kUdp };
constexpr std::array<std::string_view, 2> enum_names(Protocol) {
  return {"tcp", "udp"};
}

struct Port {
  int64_t port = 0;
  int64_t hostPort = 0;
  std::string hostAddress;
  Protocol protocol = Protocol::kTcp;

  bool operator==(const Port&) const = default;
  static constexpr std::string_view kTypeName = "Port";
  static constexpr auto fields() {
    return std::tuple(
        field("port", &Port::port, "Port that the program listens on.",
              {.required = true, .minimum = 1, .maximum = 65535, .example = "8888"}),
        field("hostPort", &Port::hostPort, "Port of the node; a free one when 0.",
              {.minimum = 0, .maximum = 65535}),
        field("hostAddress", &Port::hostAddress,
              "IPv4 address of the node to bind; 127.0.0.1 when empty, so that only the node "
              "itself reaches it. 0.0.0.0 exposes it to everyone.",
              {.maximum = 15, .example = "0.0.0.0"}),
        field("protocol", &Port::protocol, "tcp or udp."));
  }
};
static_assert(schema::complete<Port>());

struct HealthCheck {
  std::vector<std::string> command;
  std::optional<Millis> interval;
  std::optional<Millis> timeout;
  std::optional<Millis> startPeriod;
  std::optional<Millis> startInterval;
  std::optional<int64_t> retries;
  bool disabled = false;

  bool operator==(const HealthCheck&) const = default;
  static constexpr std::string_view kTypeName = "HealthCheck";
  static constexpr auto fields() {
    return std::tuple(
        field("command", &HealthCheck::command,
              "Program that says by its exit code 0 that the container is well; the image's when "
              "empty.",
              {.maximum = 1024, .value_maximum = 131'072}),
        field("interval", &HealthCheck::interval,
              "Between two checks; the image's, else 30 s, when empty.",
              {.minimum = 1, .maximum = 86'400'000}),
        field("timeout", &HealthCheck::timeout,
              "A check that takes longer has failed; the image's, else 30 s, when empty.",
              {.minimum = 1, .maximum = 86'400'000}),
        field("startPeriod", &HealthCheck::startPeriod,
              "Failures do not count for so long, until a check succeeds; the image's, else 0.",
              {.minimum = 0, .maximum = 86'400'000}),
        field("startInterval", &HealthCheck::startInterval,
              "Between two checks in that time; the image's, else 5 s.",
              {.minimum = 1, .maximum = 86'400'000}),
        field("retries", &HealthCheck::retries,
              "So many failures in a row make it unhealthy; the image's, else 3, when empty.",
              {.minimum = 1, .maximum = 1'000}),
        field("disabled", &HealthCheck::disabled, "No checks, whatever the image says."));
  }
};
static_assert(schema::complete<HealthCheck>());

// What the checks of a running container say.
enum class ContainerHealth { kNone, kStarting, kHealthy, kUnhealthy };
constexpr std::array<std::string_view, 4> enum_names(ContainerHealth) {
  return {"", "Starting", "Healthy", "Unhealthy"};
}

enum class RestartPolicy { kNever, kOnFailure, kAlways };
constexpr std::array<std::string_view, 3> enum_names(RestartPolicy) {
  return {"Never", "OnFailure", "Always"};
}

// A value of a Secret in the container: as an environment variable, or as a file in memory.
struct SecretUse {
  std::string name;
  std::string path;
  std::string secret;
  std::string key;
  int64_t mode = 0400;

  bool operator==(const SecretUse&) const = default;
  static constexpr std::string_view kTypeName = "SecretUse";
  static constexpr auto fields() {
    return std::tuple(
        field("name", &SecretUse::name, "Environment variable to set; or give a path.",
              {.format = schema::Format::kEnvName, .example = "HF_TOKEN"}),
        field("path", &SecretUse::path,
              "File to put it in: in memory, never on a disk, owned by the container's user.",
              {.format = schema::Format::kAbsolutePath, .example = "/run/secrets/token"}),
        field("secret", &SecretUse::secret, "Name of the Secret in the same project.",
              {.required = true, .format = schema::Format::kName}),
        field("key", &SecretUse::key, "Which of the secret's values.",
              {.required = true, .example = "token"}),
        field("mode", &SecretUse::mode, "Permissions of the file; 256 is octal 0400.",
              {.minimum = 0, .maximum = 0777}));
  }
};
static_assert(schema::complete<SecretUse>());

}  // namespace tessera::api
