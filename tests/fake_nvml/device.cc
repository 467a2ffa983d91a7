// The exported functions that are about one device, most of them one line of its script.

#include <cstdio>

#include "accel/nvidia/pci.h"
#include "fake.h"

using namespace fake_nvml;
using tessera::accel::nvidia::parse_pci;

namespace {

constexpr unsigned long long kMiB = 1ull << 20;

int put_pci(const std::optional<std::string>& text, std::optional<unsigned long long> value,
            nvmlPciInfo_t* pci) {
  if (!pci) return NVML_ERROR_INVALID_ARGUMENT;
  auto address = text ? parse_pci(*text) : std::nullopt;
  if (!address) return NVML_ERROR_NOT_SUPPORTED;
  *pci = {};
  std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.%X",
                address->domain & 0xffff, address->bus, address->device, address->function);
  std::snprintf(pci->busId, sizeof pci->busId, "%s", address->text().c_str());
  pci->domain = address->domain;
  pci->bus = value ? static_cast<unsigned>(*value) : address->bus;
  pci->device = address->device;
  pci->pciDeviceId = 0x233010de;
  return NVML_SUCCESS;
}

// What the n-th "nvlink" line leads to: an address or "switch".
int link_target(const Call& call, unsigned link, std::string* target) {
  if (call.code != NVML_SUCCESS) return call.code;
  auto [at, end] = call.device->lines.equal_range("nvlink");
  if (at == end) return NVML_ERROR_NOT_SUPPORTED;
  for (unsigned i = 0; at != end; ++at, ++i)
    if (i == link) *target = at->second;
  return target->empty() ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

int put_processes(const char* name, nvmlDevice_t device, const std::string& key,
                  unsigned int* count, nvmlProcessInfo_t* infos) {
  Call call(name, device);
  if (call.code != NVML_SUCCESS) return call.code;
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  unsigned room = *count;
  auto [at, end] = call.device->lines.equal_range(key);
  *count = static_cast<unsigned>(std::distance(at, end));
  if (*count > room || (*count > 0 && !infos)) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (; at != end; ++at, ++infos) {
    Device line{"", {{"process", at->second}}};
    unsigned long long memory = line.number("process", 1).value_or(0) * kMiB;
    *infos = {static_cast<unsigned>(line.number("process").value_or(0)),
              call.value.value_or(memory), ~0u, ~0u};
  }
  return NVML_SUCCESS;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  Call call("nvmlDeviceGetUUID", device);
  return call.code != NVML_SUCCESS ? call.code : copy_text(device->uuid, uuid, length);
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length) {
  return Call("nvmlDeviceGetName", device).put_text(name, length, "name");
}
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* serial, unsigned int length) {
  return Call("nvmlDeviceGetSerial", device).put_text(serial, length, "serial");
}
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* version, unsigned int length) {
  return Call("nvmlDeviceGetVbiosVersion", device).put_text(version, length, "vbios");
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  Call call("nvmlDeviceGetPciInfo_v3", device);
  if (call.code != NVML_SUCCESS) return call.code;
  return put_pci(call.device->text("pci"), call.value, pci);
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int* minor) {
  return Call("nvmlDeviceGetMinorNumber", device).put(minor, "minor");
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  Call call("nvmlDeviceGetMemoryInfo_v2", device);
  if (memory && memory->version != NVML_MEMORY_V2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
  if (int code = call.put(&memory->total, "memory", 0, kMiB); code != NVML_SUCCESS) return code;
  memory->reserved = call.device->number("memory", 1).value_or(0) * kMiB;
  memory->used = call.device->number("memory", 2).value_or(0) * kMiB;
  memory->free = memory->total - memory->reserved - memory->used;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  Call call("nvmlDeviceGetMemoryInfo", device);
  if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
  if (int code = call.put(&memory->total, "memory", 0, kMiB); code != NVML_SUCCESS) return code;
  // Version 1 counts what the driver keeps as used.
  memory->used = (call.device->number("memory", 1).value_or(0) +
                  call.device->number("memory", 2).value_or(0)) *
                 kMiB;
  memory->free = memory->total - memory->used;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, unsigned long long* total_free_used) {
  Call call("nvmlDeviceGetBAR1MemoryInfo", device);
  if (int code = call.put(total_free_used, "bar1", 0, kMiB); code != NVML_SUCCESS) return code;
  total_free_used[2] = kMiB;
  total_free_used[1] = total_free_used[0] - kMiB;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  Call call("nvmlDeviceGetCudaComputeCapability", device);
  int code = call.put(major, "compute", 0);
  return code != NVML_SUCCESS ? code : call.put(minor, "compute", 1);
}
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned int* node) {
  return Call("nvmlDeviceGetNumaNodeId", device).put(node, "memory_node");
}
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int words,
                                         unsigned long* nodes, unsigned int) {
  Call call("nvmlDeviceGetMemoryAffinity", device);
  unsigned long long node = 0;
  if (int code = call.put(&node, "numa"); code != NVML_SUCCESS) return code;
  for (unsigned i = 0; i < words; ++i) nodes[i] = i == node / 64 ? 1ul << node % 64 : 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other,
                                                 unsigned int* level) {
  Call call("nvmlDeviceGetTopologyCommonAncestor", device);
  if (call.code != NVML_SUCCESS) return call.code;
  *level = 50;
  auto [at, end] = call.device->lines.equal_range("topology");
  for (; at != end; ++at)
    if (words(at->second)[0] == other->uuid)
      *level = static_cast<unsigned>(Device{"", {{"t", at->second}}}.number("t", 1).value_or(50));
  if (call.value) *level = static_cast<unsigned>(*call.value);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                      unsigned int* active) {
  std::string target;
  int code = link_target(Call("nvmlDeviceGetNvLinkState", device), link, &target);
  if (code == NVML_SUCCESS) *active = target != "down";
  return code;
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                 nvmlPciInfo_t* pci) {
  std::string target;
  int code = link_target(Call("nvmlDeviceGetNvLinkRemotePciInfo_v2", device), link, &target);
  return code == NVML_SUCCESS ? put_pci(target, std::nullopt, pci) : code;
}
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 unsigned int* type) {
  std::string target;
  int code = link_target(Call("nvmlDeviceGetNvLinkRemoteDeviceType", device), link, &target);
  if (code == NVML_SUCCESS) *type = target == "switch" ? NVML_NVLINK_DEVICE_TYPE_SWITCH : 0;
  return code;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int* current,
                                  unsigned int* pending) {
  Call call("nvmlDeviceGetMigMode", device);
  int code = call.put(current, "mig");
  return code != NVML_SUCCESS ? code : call.put(pending, "mig");
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int* correctable,
                                       unsigned int* uncorrectable, unsigned int* pending,
                                       unsigned int* failure) {
  Call call("nvmlDeviceGetRemappedRows", device);
  unsigned int* out[] = {correctable, uncorrectable, pending, failure};
  for (size_t i = 0; i < 4; ++i)
    if (int code = call.put(out[i], "remapped", i); code != NVML_SUCCESS) return code;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, unsigned int* pending) {
  return Call("nvmlDeviceGetRetiredPagesPendingStatus", device).put(pending, "retiring");
}
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned int* current,
                                  unsigned int* pending) {
  Call call("nvmlDeviceGetEccMode", device);
  int code = call.put(current, "ecc");
  return code != NVML_SUCCESS ? code : call.put(pending, "ecc");
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned int type, unsigned int,
                                         unsigned long long* count) {
  return Call("nvmlDeviceGetTotalEccErrors", device).put(count, "ecc_errors", type);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* rates) {
  Call call("nvmlDeviceGetUtilizationRates", device);
  int code = call.put(&rates->gpu, "utilization", 0);
  return code != NVML_SUCCESS ? code : call.put(&rates->memory, "utilization", 1);
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned int, unsigned int* celsius) {
  return Call("nvmlDeviceGetTemperature", device).put(celsius, "temperature");
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* milliwatts) {
  return Call("nvmlDeviceGetPowerUsage", device).put(milliwatts, "power", 0, 1000);
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int* milliwatts) {
  return Call("nvmlDeviceGetEnforcedPowerLimit", device).put(milliwatts, "power", 1, 1000);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int* milliwatts) {
  return Call("nvmlDeviceGetPowerManagementLimit", device).put(milliwatts, "power", 1, 1000);
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* mj) {
  return Call("nvmlDeviceGetTotalEnergyConsumption", device).put(mj, "energy");
}
// "clocks" and "max_clocks" have graphics, SM, memory and video in MHz, in NVML's order.
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned int type, unsigned int* mhz) {
  return Call("nvmlDeviceGetClockInfo", device).put(mhz, "clocks", type);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned int type, unsigned int* mhz) {
  return Call("nvmlDeviceGetMaxClockInfo", device).put(mhz, "max_clocks", type);
}
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, unsigned int* state) {
  return Call("nvmlDeviceGetPerformanceState", device).put(state, "pstate");
}
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned int* percent) {
  return Call("nvmlDeviceGetFanSpeed", device).put(percent, "fan");
}
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, unsigned int* brand) {
  return Call("nvmlDeviceGetBrand", device).put(brand, "brand");
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned int* mode) {
  return Call("nvmlDeviceGetPersistenceMode", device).put(mode, "persistence");
}
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned int* mode) {
  return Call("nvmlDeviceGetComputeMode", device).put(mode, "compute_mode");
}
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, unsigned int* active) {
  return Call("nvmlDeviceGetDisplayActive", device).put(active, "display");
}
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, unsigned int* mode) {
  return Call("nvmlDeviceGetDisplayMode", device).put(mode, "display");
}
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned int* count) {
  return Call("nvmlDeviceGetPcieReplayCounter", device).put(count, "replays");
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* infos) {
  return put_processes("nvmlDeviceGetComputeRunningProcesses_v3", device, "process", count, infos);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* infos) {
  return put_processes("nvmlDeviceGetComputeRunningProcesses_v2", device, "process", count, infos);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                      nvmlProcessInfo_t* infos) {
  return put_processes("nvmlDeviceGetGraphicsRunningProcesses_v3", device, "graphics", count,
                       infos);
}

}  // extern "C"
