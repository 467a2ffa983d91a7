#include "accel/nvidia/library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cctype>
#include <filesystem>

#include "base/text.h"

namespace tessera::accel::nvidia {

namespace {

template <class Function>
void load(void* handle, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(::dlsym(handle, name));
}

Functions load_all(void* handle) {
  Functions f;
  load(handle, "nvmlInit_v2", f.init);
  load(handle, "nvmlShutdown", f.shutdown);
  load(handle, "nvmlErrorString", f.error_string);
  load(handle, "nvmlSystemGetDriverVersion", f.driver_version);
  load(handle, "nvmlDeviceGetCount_v2", f.count);
  load(handle, "nvmlDeviceGetHandleByIndex_v2", f.handle);
  load(handle, "nvmlDeviceGetUUID", f.uuid);
  load(handle, "nvmlDeviceGetName", f.name);
  load(handle, "nvmlDeviceGetMemoryInfo", f.memory);
  load(handle, "nvmlDeviceGetMemoryInfo_v2", f.memory_v2);
  load(handle, "nvmlDeviceGetPciInfo_v3", f.pci);
  load(handle, "nvmlDeviceGetMinorNumber", f.minor);
  load(handle, "nvmlDeviceGetCudaComputeCapability", f.compute_capability);
  load(handle, "nvmlDeviceGetMemoryAffinity", f.memory_affinity);
  load(handle, "nvmlDeviceGetTopologyCommonAncestor", f.common_ancestor);
  load(handle, "nvmlDeviceGetNvLinkState", f.nvlink_state);
  load(handle, "nvmlDeviceGetNvLinkRemotePciInfo_v2", f.nvlink_pci);
  load(handle, "nvmlDeviceGetNvLinkRemoteDeviceType", f.nvlink_type);
  load(handle, "nvmlDeviceGetUtilizationRates", f.utilization);
  load(handle, "nvmlDeviceGetTemperature", f.temperature);
  load(handle, "nvmlDeviceGetPowerUsage", f.power);
  load(handle, "nvmlDeviceGetEnforcedPowerLimit", f.power_limit);
  load(handle, "nvmlDeviceGetFanSpeed", f.fan);
  load(handle, "nvmlDeviceGetPerformanceState", f.performance_state);
  load(handle, "nvmlDeviceGetComputeRunningProcesses_v3", f.compute_processes);
  load(handle, "nvmlDeviceGetGraphicsRunningProcesses_v3", f.graphics_processes);
  load(handle, "nvmlDeviceGetMigMode", f.mig_mode);
  load(handle, "nvmlDeviceGetRemappedRows", f.remapped_rows);
  load(handle, "nvmlDeviceGetRetiredPagesPendingStatus", f.retired_pages);
  return f;
}

}  // namespace

Result<std::unique_ptr<Library>> Library::open(const std::string& name) {
  std::unique_ptr<Library> made(new Library);
  made->handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!made->handle_) {
    const char* text = ::dlerror();
    std::string why = text ? text : "unknown error";
    // The loader says "NAME: cannot open …" about the library itself, and names another one when
    // that is what is missing.
    bool absent = why.starts_with(cat(name, ": ")) && why.ends_with("No such file or directory");
    return error(absent ? Code::kNotFound : Code::kInternal, cat("cannot load NVML: ", why));
  }
  made->functions_ = load_all(made->handle_);
  if (!made->functions_.init || !made->functions_.count || !made->functions_.handle)
    return error(Code::kInternal, cat(name, " is not NVML, or one older than 2012"));
  link_map* map = nullptr;
  if (::dlinfo(made->handle_, RTLD_DI_LINKMAP, &map) == 0 && map) made->path_ = map->l_name;
  made->identity_ = identity(made->path_);
  return made;
}

Library::~Library() {
  if (handle_) ::dlclose(handle_);
}

std::string Library::error_text(nvmlReturn_t code) const {
  const char* text = functions_.error_string ? functions_.error_string(code) : nullptr;
  return cat(text ? text : "NVML error", " (", code, ")");
}

std::string Library::file_version() const {
  std::error_code failure;
  std::string file = std::filesystem::canonical(path_, failure).filename();
  size_t at = file.find(".so.");
  if (failure || at == std::string::npos) return {};
  std::string version = file.substr(at + 4);
  return version.find('.') == std::string::npos ? std::string() : version;
}

bool Library::current() const {
  return identity(path_) == identity_;
}

Library::Identity Library::identity(const std::string& path) {
  struct stat seen{};
  if (::stat(path.c_str(), &seen) != 0) return {};
  return {seen.st_dev, seen.st_ino, seen.st_mtim.tv_sec * 1'000'000'000 + seen.st_mtim.tv_nsec};
}

}  // namespace tessera::accel::nvidia
