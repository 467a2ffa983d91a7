#pragma once
// NVML, loaded at run time: it belongs to the driver, and most machines do not have it.

#include <memory>
#include <string>

#include "accel/nvidia/nvml_abi.h"
#include "base/result.h"

namespace tessera::accel::nvidia {

// The functions that we use; one that this version of the library lacks answers "not found".
struct Functions {
  decltype(&nvmlInit_v2) init = nullptr;
  decltype(&nvmlShutdown) shutdown = nullptr;
  decltype(&nvmlErrorString) error_string = nullptr;
  decltype(&nvmlSystemGetDriverVersion) driver_version = nullptr;
  decltype(&nvmlDeviceGetCount_v2) count = nullptr;
  decltype(&nvmlDeviceGetHandleByIndex_v2) handle = nullptr;
  decltype(&nvmlDeviceGetUUID) uuid = nullptr;
  decltype(&nvmlDeviceGetName) name = nullptr;
  decltype(&nvmlDeviceGetMemoryInfo) memory = nullptr;
  decltype(&nvmlDeviceGetMemoryInfo_v2) memory_v2 = nullptr;
  decltype(&nvmlDeviceGetPciInfo_v3) pci = nullptr;
  decltype(&nvmlDeviceGetMinorNumber) minor = nullptr;
  decltype(&nvmlDeviceGetCudaComputeCapability) compute_capability = nullptr;
  decltype(&nvmlDeviceGetMemoryAffinity) memory_affinity = nullptr;
  decltype(&nvmlDeviceGetTopologyCommonAncestor) common_ancestor = nullptr;
  decltype(&nvmlDeviceGetNvLinkState) nvlink_state = nullptr;
  decltype(&nvmlDeviceGetNvLinkRemotePciInfo_v2) nvlink_pci = nullptr;
  decltype(&nvmlDeviceGetNvLinkRemoteDeviceType) nvlink_type = nullptr;
  decltype(&nvmlDeviceGetUtilizationRates) utilization = nullptr;
  decltype(&nvmlDeviceGetTemperature) temperature = nullptr;
  decltype(&nvmlDeviceGetPowerUsage) power = nullptr;
  decltype(&nvmlDeviceGetEnforcedPowerLimit) power_limit = nullptr;
  decltype(&nvmlDeviceGetFanSpeed) fan = nullptr;
  decltype(&nvmlDeviceGetPerformanceState) performance_state = nullptr;
  decltype(&nvmlDeviceGetComputeRunningProcesses_v3) compute_processes = nullptr;
  decltype(&nvmlDeviceGetGraphicsRunningProcesses_v3) graphics_processes = nullptr;
  decltype(&nvmlDeviceGetMigMode) mig_mode = nullptr;
  decltype(&nvmlDeviceGetRemappedRows) remapped_rows = nullptr;
  decltype(&nvmlDeviceGetRetiredPagesPendingStatus) retired_pages = nullptr;
};

// Calls a function that may be missing.
template <class Function, class... Arguments>
nvmlReturn_t call(Function* function, Arguments... arguments) {
  return function ? function(arguments...) : NVML_ERROR_FUNCTION_NOT_FOUND;
}

// Owned by whoever reads; used by one thread at a time. Loading runs the library's own start-up
// code, which may crash: probe.h tries it elsewhere first.
class Library {
 public:
  // kNotFound when there is no such library, kInternal when there is one that cannot be loaded.
  static Result<std::unique_ptr<Library>> open(const std::string& name);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Functions& functions() const { return functions_; }
  std::string error_text(nvmlReturn_t code) const;  // "GPU is lost (15)"
  // Version in the name of the file behind the links, "550.90.07"; empty when it has none.
  std::string file_version() const;
  // False once the file was replaced on disk: what is loaded then no longer fits the driver, or
  // will not after the next reload of the module (A10).
  bool current() const;

 private:
  struct Identity {
    uint64_t device = 0, inode = 0;
    int64_t modified_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  Library() = default;
  static Identity identity(const std::string& path);

  void* handle_ = nullptr;
  std::string path_;
  Identity identity_;
  Functions functions_;
};

}  // namespace tessera::accel::nvidia
