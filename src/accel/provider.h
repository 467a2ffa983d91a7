#pragma once
// The accelerator port: what a vendor's adapter offers. One folder per vendor beside this file; the
// list of them is accel/providers/providers.cc.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/objects.h"
#include "base/result.h"

namespace tessera::accel {

struct Inventory {
  // Ordered by PCI bus id (A8); `status.index` counts in this order. `metadata.name` is the UUID.
  // A device that is seen but not usable is in the list, Fenced, with the reason (D6: one device,
  // not the node).
  std::vector<api::Accelerator> accelerators;
  // Findings that concern the provider as a whole, one sentence each ("driver 550.54 does not fit
  // library 550.90: reload the module or reboot"). Shown on the node.
  std::vector<std::string> problems;
};

// What a device is doing at this moment. What the vendor's library does not tell is absent.
struct Sample {
  struct Process {
    int64_t pid = 0;  // on the host
    std::optional<MiB> memory;
  };
  std::string uuid;
  std::optional<MiB> memory_used;  // by programs; the driver's own part is not in it
  std::optional<Percent> utilization, fan;
  std::optional<int64_t> temperature_celsius, power_watts, power_limit_watts;
  std::string performance_state;  // "P0"
  std::vector<Process> processes;
};

// Owned by the server, called on worker threads, one call at a time. No call blocks longer than its
// own deadline: a hung driver is a finding, not a hung server.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string_view vendor() const = 0;  // "nvidia", "sim"
  // Looks again each time (A16): devices may come, go or fall ill while the server runs. An absent
  // driver is an empty inventory, not an error.
  virtual Result<Inventory> scan() = 0;
  // Measures every device that can be measured. An absent driver is no device, not an error.
  virtual Result<std::vector<Sample>> sample() = 0;
  // Makes sure that the device's nodes exist before a container starts (A2), and that its CDI name
  // resolves (A12). The error is the sentence that the job's owner reads.
  virtual Status prepare(const api::Accelerator& accelerator) = 0;
  // Folders with CDI specs of the provider's own making, to search after /etc/cdi and /var/run/cdi
  // (accel/cdi.h: a later folder wins). A device's name there is `status.cdiDevice`.
  virtual std::vector<std::string> cdi_folders() const = 0;
};

struct ProviderOptions {
  std::string data_folder;   // where a provider may keep generated files
  std::string sim_file;      // YAML of simulated devices; empty: none
  std::string nvml_library;  // path or soname of NVML; "libnvidia-ml.so.1" when empty
  // Program and arguments that end in nvidia::probe_main(library); "/proc/self/exe probe-nvml" when
  // empty, so main() has to know that word.
  std::vector<std::string> nvml_probe;
  std::string host_root;  // prefix of /dev, /proc, /sys, /etc and tools for tests; empty otherwise
};

}  // namespace tessera::accel
