#pragma once
// What the kernel says about NVIDIA devices, without NVML: /proc/driver/nvidia and /sys. `root` is
// put before each path; empty on a real machine.

#include <optional>
#include <string>
#include <vector>

#include "accel/nvidia/pci.h"

namespace tessera::accel::nvidia {

struct KernelDevice {
  PciAddress pci;
  std::string uuid;  // empty when the driver does not know it (yet)
  std::string model;
  std::optional<int64_t> minor;
};

// Version of the loaded kernel module, "550.54.15"; nullopt when none is loaded.
std::optional<std::string> module_version(const std::string& root);

// The devices that the driver is bound to, in the order of their addresses.
std::vector<KernelDevice> kernel_devices(const std::string& root);

// NUMA node of the host next to a PCI device; nullopt when the machine has none to tell.
std::optional<int64_t> numa_node(const std::string& root, const PciAddress& pci);

// Path of an executable in the usual folders under `root`; empty when it is in none.
std::string find_tool(const std::string& root, const std::string& name);

}  // namespace tessera::accel::nvidia
