#pragma once
// The kinds besides Job: Project, Secret (users write them), Node, Accelerator, Event (observed).
// User and Token are in api/accounts.h.

#include "api/accounts.h"
#include "api/container.h"

namespace tessera::api {

struct Quota {
  std::optional<MilliGpu> max;

  bool operator==(const Quota&) const = default;
  static constexpr std::string_view kTypeName = "Quota";
  static constexpr auto fields() {
    return std::tuple(
        field("max", &Quota::max,
              "Most accelerators that the project's tasks hold at once; no limit when empty.",
              {.minimum = 0, .example = "4"}));
  }
};
static_assert(schema::complete<Quota>());

struct ProjectSpec {
  std::string description;
  Quota quota;
  std::vector<std::string> hostPaths;
  std::map<std::string, ProjectRole> members;
  Privileges privileges;

  bool operator==(const ProjectSpec&) const = default;
  static constexpr std::string_view kTypeName = "ProjectSpec";
  static constexpr auto fields() {
    return std::tuple(
        field("description", &ProjectSpec::description, "For people."),
        field("quota", &ProjectSpec::quota, "What the project may hold."),
        field("hostPaths", &ProjectSpec::hostPaths,
              "Folders of the nodes under which its jobs may mount volumes. None when empty.",
              {.maximum = 64, .format = schema::Format::kAbsolutePath, .example = "/data"}),
        field(
            "members", &ProjectSpec::members,
            "Role of each user who has one: viewer, member (runs jobs) or maintainer (also writes "
            "secrets and this list).",
            {.maximum = 1024,
             .key_format = schema::Format::kName,
             .example = "{ana: maintainer, wei: viewer}"}),
        field("privileges", &ProjectSpec::privileges,
              "What its jobs may have that reaches beyond their containers."));
  }
};
static_assert(schema::complete<ProjectSpec>());

struct Project {
  Metadata metadata;
  ProjectSpec spec;

  bool operator==(const Project&) const = default;
  static constexpr std::string_view kTypeName = "Project";
  static constexpr auto fields() {
    return std::tuple(field("metadata", &Project::metadata, "Name and labels."),
                      field("spec", &Project::spec, "What the admin wants."));
  }
};
static_assert(schema::complete<Project>());

// The key of a secret's data that holds a docker config.json: the project's pulls log in with it.
inline constexpr std::string_view kRegistryLoginKey = ".dockerconfigjson";

struct Secret {
  Metadata metadata;
  std::map<std::string, std::string> data;

  bool operator==(const Secret&) const = default;
  static constexpr std::string_view kTypeName = "Secret";
  static constexpr auto fields() {
    return std::tuple(field("metadata", &Secret::metadata, "Name, project, labels."),
                      field("data", &Secret::data,
                            "The values by key. Written, never shown. What stands under "
                            ".dockerconfigjson is a docker config.json whose logins are used for "
                            "the project's pulls.",
                            {.secret = true, .maximum = 64, .value_maximum = 1 << 20}));
  }
};
static_assert(schema::complete<Secret>());

struct NodeSpec {
  bool unschedulable = false;

  bool operator==(const NodeSpec&) const = default;
  static constexpr std::string_view kTypeName = "NodeSpec";
  static constexpr auto fields() {
    return std::tuple(
        field("unschedulable", &NodeSpec::unschedulable, "Cordoned: nothing new is placed here."));
  }
};
static_assert(schema::complete<NodeSpec>());

struct NodeStatus {
  bool ready = false;
  std::string message;
  MilliCpu cpus;
  MiB memory;
  std::string engine;
  std::string os;
  std::string kernel;

  bool operator==(const NodeStatus&) const = default;
  static constexpr std::string_view kTypeName = "NodeStatus";
  static constexpr auto fields() {
    return std::tuple(
        field("ready", &NodeStatus::ready, "The engine answers and containers can start.",
              {.required = true}),
        field("message", &NodeStatus::message, "Why it is not ready."),
        field("cpus", &NodeStatus::cpus, "CPU cores for tasks."),
        field("memory", &NodeStatus::memory, "Memory for tasks."),
        field("engine", &NodeStatus::engine, "What runs containers here, with its version."),
        field("os", &NodeStatus::os, "Operating system."),
        field("kernel", &NodeStatus::kernel, "Kernel version."));
  }
};
static_assert(schema::complete<NodeStatus>());

struct Node {
  Metadata metadata;
  NodeSpec spec;
  NodeStatus status;

  bool operator==(const Node&) const = default;
  static constexpr std::string_view kTypeName = "Node";
  static constexpr auto fields() {
    return std::tuple(field("metadata", &Node::metadata, "Name and labels."),
                      field("spec", &Node::spec, "What the admin wants."),
                      field("status", &Node::status, "What is.", {.read_only = true}));
  }
};
static_assert(schema::complete<Node>());

enum class Health { kHealthy, kFenced };
constexpr std::array<std::string_view, 2> enum_names(Health) {
  return {"Healthy", "Fenced"};
}

// How one device reaches another of the same node; the nearer the better for gangs of processes.
struct Link {
  std::string peer;
  std::string type;

  bool operator==(const Link&) const = default;
  static constexpr std::string_view kTypeName = "Link";
  static constexpr auto fields() {
    return std::tuple(field("peer", &Link::peer, "UUID of the other device."),
                      field("type", &Link::type,
                            "NV# (NVLink, number of links), PIX, PXB, PHB, NODE or SYS, as "
                            "nvidia-smi topo prints it."));
  }
};
static_assert(schema::complete<Link>());

struct AcceleratorStatus {
  std::string node;
  std::string vendor;
  std::string model;
  int64_t index = 0;
  MiB memory;
  std::string pciBusId;
  std::optional<int64_t> numaNode;
  std::string computeCapability;
  std::string driverVersion;
  std::vector<Link> links;
  std::string cdiDevice;
  bool simulated = false;
  Health health = Health::kHealthy;
  std::string message;

  bool operator==(const AcceleratorStatus&) const = default;
  static constexpr std::string_view kTypeName = "AcceleratorStatus";
  static constexpr auto fields() {
    return std::tuple(
        field("node", &AcceleratorStatus::node, "Node that it is in."),
        field("vendor", &AcceleratorStatus::vendor, "nvidia, amd, ascend, tpu, intel or sim."),
        field("model", &AcceleratorStatus::model, "Name of the product."),
        field("index", &AcceleratorStatus::index, "Position in the node in PCI bus order, from 0."),
        field("memory", &AcceleratorStatus::memory,
              "Memory that tasks can use: what the device has less what the driver keeps."),
        field("pciBusId", &AcceleratorStatus::pciBusId, "PCI address."),
        field("numaNode", &AcceleratorStatus::numaNode, "NUMA node of the host that is nearest."),
        field("computeCapability", &AcceleratorStatus::computeCapability,
              "CUDA compute capability, major.minor."),
        field("driverVersion", &AcceleratorStatus::driverVersion, "Version of the driver."),
        field("links", &AcceleratorStatus::links, "How it reaches the other devices of its node."),
        field("cdiDevice", &AcceleratorStatus::cdiDevice,
              "Its name for the Container Device Interface."),
        field("simulated", &AcceleratorStatus::simulated,
              "No hardware: for trying Tessera on a machine without accelerators."),
        field("health", &AcceleratorStatus::health, "Fenced devices get no new tasks.",
              {.required = true}),
        field("message", &AcceleratorStatus::message, "Why it is fenced."));
  }
};
static_assert(schema::complete<AcceleratorStatus>());

struct Accelerator {
  Metadata metadata;
  AcceleratorStatus status;

  bool operator==(const Accelerator&) const = default;
  static constexpr std::string_view kTypeName = "Accelerator";
  static constexpr auto fields() {
    return std::tuple(field("metadata", &Accelerator::metadata, "The name is the device's UUID."),
                      field("status", &Accelerator::status, "What is.", {.read_only = true}));
  }
};
static_assert(schema::complete<Accelerator>());

struct Subject {
  std::string kind;
  std::string name;
  std::string uid;

  bool operator==(const Subject&) const = default;
  static constexpr std::string_view kTypeName = "Subject";
  static constexpr auto fields() {
    return std::tuple(field("kind", &Subject::kind, "Kind of the object."),
                      field("name", &Subject::name, "Its name."),
                      field("uid", &Subject::uid, "Its uid."));
  }
};
static_assert(schema::complete<Subject>());

struct Event {
  Metadata metadata;
  Subject about;
  bool warning = false;
  std::string reason;
  std::string message;
  Instant time;

  bool operator==(const Event&) const = default;
  static constexpr std::string_view kTypeName = "Event";
  static constexpr auto fields() {
    return std::tuple(field("metadata", &Event::metadata, "Name and project."),
                      field("about", &Event::about, "The object that it happened to."),
                      field("warning", &Event::warning, "Something a person should look at."),
                      field("reason", &Event::reason, "What happened, in one word."),
                      field("message", &Event::message, "The same in one sentence."),
                      field("time", &Event::time, "When."));
  }
};
static_assert(schema::complete<Event>());

}  // namespace tessera::api
