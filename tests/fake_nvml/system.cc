// The exported functions that are about the whole: start, versions, finding devices.

#include <unistd.h>

#include <fstream>
#include <iterator>

#include "accel/nvidia/pci.h"
#include "fake.h"

using namespace fake_nvml;

namespace {

struct Name {
  int code;
  const char* text;
};
constexpr Name kNames[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found"},
    {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {NVML_ERROR_RESET_REQUIRED, "GPU requires reset"},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
    {NVML_ERROR_UNKNOWN, "Unknown Error"},
};

int system_text(const char* call, const std::string& key, const std::string& otherwise, char* out,
                unsigned length) {
  if (auto failed = enter(call, "")) return *failed;
  if (!in_session()) return NVML_ERROR_UNINITIALIZED;
  auto script = current();
  auto at = script->system.find(key);
  return copy_text(at == script->system.end() ? otherwise : at->second, out, length);
}

int begin(const char* call) {
  if (auto failed = enter(call, "")) return *failed;
  return begin_session();
}

template <class Predicate>
int find_device(const char* call, nvmlDevice_t* device, Predicate is_it) {
  if (auto failed = enter(call, "")) return *failed;
  if (!in_session()) return NVML_ERROR_UNINITIALIZED;
  if (!device) return NVML_ERROR_INVALID_ARGUMENT;
  auto script = current();
  for (const std::string& uuid : session_devices()) {
    const Device* found = script->find(uuid);
    if (!found || !is_it(*found)) continue;
    *device = handle_of(uuid);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

int cuda_version(const char* call, int* version) {
  if (auto failed = enter(call, "")) return *failed;
  if (!version) return NVML_ERROR_INVALID_ARGUMENT;
  auto script = current();
  auto at = script->system.find("cuda");
  *version = at == script->system.end() ? 12040 : std::atoi(at->second.c_str());
  return NVML_SUCCESS;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit(void) {
  return begin("nvmlInit");
}
nvmlReturn_t nvmlInit_v2(void) {
  return begin("nvmlInit_v2");
}
nvmlReturn_t nvmlInitWithFlags(unsigned int) {
  return begin("nvmlInitWithFlags");
}
nvmlReturn_t nvmlShutdown(void) {
  if (auto failed = enter("nvmlShutdown", "")) return *failed;
  return end_session();
}
const char* nvmlErrorString(nvmlReturn_t result) {
  for (const Name& row : kNames)
    if (row.code == result) return row.text;
  return "Unknown Error";
}
nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return system_text("nvmlSystemGetDriverVersion", "driver", "550.54.15", version, length);
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  return system_text("nvmlSystemGetNVMLVersion", "nvml", "12.550.54.15", version, length);
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return cuda_version("nvmlSystemGetCudaDriverVersion", version);
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return cuda_version("nvmlSystemGetCudaDriverVersion_v2", version);
}
nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length) {
  if (auto failed = enter("nvmlSystemGetProcessName", "")) return *failed;
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  if (text.empty()) return NVML_ERROR_NOT_FOUND;
  return copy_text(text.substr(0, text.find('\0')), name, length);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  std::optional<unsigned long long> value;
  if (auto failed = enter("nvmlDeviceGetCount_v2", "", &value)) return *failed;
  if (!in_session()) return NVML_ERROR_UNINITIALIZED;
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  *count = static_cast<unsigned>(value.value_or(session_devices().size()));
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) {
  return nvmlDeviceGetCount_v2(count);
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  std::vector<std::string> devices = session_devices();
  if (index >= devices.size() || !device) return NVML_ERROR_INVALID_ARGUMENT;
  if (auto failed = enter("nvmlDeviceGetHandleByIndex_v2", devices[index])) return *failed;
  if (!in_session()) return NVML_ERROR_UNINITIALIZED;
  *device = handle_of(devices[index]);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (!uuid) return NVML_ERROR_INVALID_ARGUMENT;
  return find_device("nvmlDeviceGetHandleByUUID", device,
                     [&](const Device& found) { return found.uuid == uuid; });
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* device) {
  using tessera::accel::nvidia::parse_pci;
  if (!id || !parse_pci(id)) return NVML_ERROR_INVALID_ARGUMENT;
  return find_device("nvmlDeviceGetHandleByPciBusId_v2", device, [&](const Device& found) {
    return parse_pci(found.text("pci").value_or("")) == parse_pci(id);
  });
}
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
  Call call("nvmlDeviceGetIndex", device);
  if (call.code != NVML_SUCCESS) return call.code;
  std::vector<std::string> devices = session_devices();
  for (unsigned i = 0; i < devices.size(); ++i)
    if (devices[i] == device->uuid) *index = i;
  return NVML_SUCCESS;
}

}  // extern "C"
