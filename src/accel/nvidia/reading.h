#pragma once
// One look at all devices through NVML, as plain facts. What the library does not know, cannot
// tell or tells absurdly (C7) is absent here, never a number.

#include <optional>
#include <string>
#include <vector>

#include "accel/nvidia/library.h"
#include "accel/nvidia/pci.h"
#include "accel/provider.h"
#include "base/units.h"

namespace tessera::accel::nvidia {

// 16 TiB: far above any device, far below the blanks that the library uses for "unknown"
// (140737488355328, 9223372036854775794 and relatives).
inline constexpr unsigned long long kMemoryLimitBytes = 1ull << 44;

struct LinkFacts {
  PciAddress peer;
  std::string type;  // "NV4", "PIX", "SYS", … as nvidia-smi topo prints it
};

struct DeviceFacts {
  std::string uuid;
  std::string model;
  std::optional<MiB> memory;  // what is left for programs
  std::optional<PciAddress> pci;
  std::optional<int64_t> minor;  // of /dev/nvidiaN
  std::optional<int64_t> numa_node;
  std::string compute_capability;
  std::vector<LinkFacts> links;
  std::string fault;  // why it must not be used, one sentence; empty: nothing is wrong
};

struct Reading {
  std::string driver_version;
  std::vector<DeviceFacts> devices;   // in the library's order
  std::vector<std::string> problems;  // about devices that cannot even be named
};

// Initialises, reads and shuts the library down again, so that each look sees the devices of its
// own time and the driver can be reloaded in between. Blocks as long as the driver does. The error
// is why there is nothing to read: kUnavailable when no driver is loaded, kConflict when library
// and driver do not fit (A10).
Result<Reading> read_devices(const Library& library);

// What they are doing now, of those that can be named (samples.cc). Errors and blocking as above.
Result<std::vector<Sample>> read_samples(const Library& library);

Status start_nvml(const Library& library);
// Calls `read` between the library's start and its end.
template <class T>
Result<T> with_nvml(const Library& library, Result<T> (*read)(const Library& library)) {
  TRY_STATUS(start_nvml(library));
  auto out = read(library);
  call(library.functions().shutdown);
  return out;
}

// One for each of the library's indices; `failure` says why it cannot be opened or named.
struct Opened {
  nvmlDevice_t device = nullptr;
  std::string uuid;
  std::string failure;
};
Result<std::vector<Opened>> open_devices(const Library& library);

// Fills in the links between the devices (links.cc). `handles` goes with `devices`.
void read_links(const Functions& f, const std::vector<nvmlDevice_t>& handles,
                std::vector<DeviceFacts>& devices);

}  // namespace tessera::accel::nvidia
