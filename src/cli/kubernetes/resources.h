#pragma once
// The names of resources in limits and requests, of Kubernetes and of the vendors' device plugins.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "api/job.h"
#include "cli/kubernetes/rules.h"

namespace tessera::kubernetes {

enum class Amount {
  kCpus,
  kMemory,
  kDevices,       // whole accelerators
  kSliceMemory,   // MiB of each device
  kSlicePercent,  // percent of the memory of one device
  kSliceCompute,  // percent of each device's compute
  kRefused,
};

struct ResourceName {
  std::string_view name;  // a '*' at the end stands for the rest of the name
  Amount amount;
  std::string_view vendor;  // of the accelerators
  std::string_view text;    // what it becomes, or why it is refused
};
std::span<const ResourceName> resource_names();

// Reads a container's "resources"; `path` is where it stands.
api::Resources read_resources(const Value& resources, const std::string& path, Refusals& out);

// What annotations of HAMi and KAI and node selectors say about accelerators. They are taken out of
// `annotations`.
void read_annotations(std::map<std::string, std::string>& annotations, const std::string& path,
                      api::Resources& resources, Refusals& out);
void read_node_selector(const Value& selector, const std::string& path, api::Resources& resources,
                        Refusals& out);

}  // namespace tessera::kubernetes
