#include "accel/nvidia/reading.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace tessera::accel::nvidia {

namespace {

// More than any machine holds; a count above it is garbage.
constexpr unsigned kDeviceLimit = 256;
// Of the highest NUMA node that we ask for.
constexpr unsigned kNodeWords = 16;
constexpr unsigned kMinorLimit = 1u << 20;

constexpr std::string_view kLost =
    "fell off the bus: look for Xid 79 in the kernel log, then reset it or reboot";

bool sane_word(std::string_view text, std::string_view also) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || also.find(c) != std::string_view::npos;
  });
}

// A text answer; empty when it fails or is not plain text.
template <size_t Size, class Function, class... Arguments>
std::string text_of(Function* function, Arguments... arguments) {
  char buffer[Size] = {};
  if (call(function, arguments..., static_cast<char*>(buffer), unsigned{Size}) != NVML_SUCCESS)
    return {};
  std::string_view text(buffer, std::find(buffer, buffer + Size, '\0') - buffer);
  text = trim(text);
  bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? std::string(text) : std::string();
}

std::optional<MiB> memory_of(const Functions& f, nvmlDevice_t device) {
  nvmlMemory_v2_t now{};
  now.version = NVML_MEMORY_V2;
  if (call(f.memory_v2, device, &now) != NVML_SUCCESS) {
    nvmlMemory_t old{};  // drivers before 510
    if (call(f.memory, device, &old) != NVML_SUCCESS) return std::nullopt;
    now.total = old.total;
    now.reserved = 0;
  }
  if (now.total == 0 || now.total > kMemoryLimitBytes || now.reserved >= now.total)
    return std::nullopt;
  return MiB{static_cast<int64_t>((now.total - now.reserved) >> 20)};
}

std::optional<PciAddress> pci_of(const Functions& f, nvmlDevice_t device) {
  nvmlPciInfo_t info{};
  if (call(f.pci, device, &info) != NVML_SUCCESS) return std::nullopt;
  if (info.bus > 255 || info.device > 31) return std::nullopt;
  return PciAddress{info.domain, info.bus, info.device, 0};
}

std::string capability_of(const Functions& f, nvmlDevice_t device) {
  int major = 0, minor = 0;
  if (call(f.compute_capability, device, &major, &minor) != NVML_SUCCESS) return {};
  if (major < 1 || major > 99 || minor < 0 || minor > 99) return {};
  return cat(major, ".", minor);
}

std::optional<int64_t> minor_of(const Functions& f, nvmlDevice_t device) {
  unsigned minor = 0;
  if (call(f.minor, device, &minor) != NVML_SUCCESS || minor >= kMinorLimit) return std::nullopt;
  return minor;
}

std::optional<int64_t> numa_node_of(const Functions& f, nvmlDevice_t device) {
  // Not nvmlDeviceGetNumaNodeId: that is the node which the device's own memory forms, on machines
  // where it does.
  unsigned long nodes[kNodeWords] = {};
  unsigned scope = NVML_AFFINITY_SCOPE_NODE;
  if (call(f.memory_affinity, device, unsigned{kNodeWords}, static_cast<unsigned long*>(nodes),
           scope) != NVML_SUCCESS)
    return std::nullopt;
  int64_t set = 0;
  std::optional<int64_t> first;
  for (unsigned word = 0; word < kNodeWords; ++word) {
    set += std::popcount(nodes[word]);
    if (nodes[word] != 0 && !first) first = int64_t{word} * 64 + std::countr_zero(nodes[word]);
  }
  return set == 1 ? first : std::nullopt;  // near to several is near to none
}

// Why a device must not be used although it answers; the worst first.
std::string fault_of(const Functions& f, nvmlDevice_t device, const DeviceFacts& facts) {
  unsigned correctable = 0, uncorrectable = 0, pending = 0, failure = 0;
  if (call(f.remapped_rows, device, &correctable, &uncorrectable, &pending, &failure) ==
      NVML_SUCCESS) {
    if (failure == 1) return "could not replace a broken row of its memory: have it exchanged";
    if (pending == 1)
      return cat(
          "waits for a reset to replace a broken row of its memory: run nvidia-smi "
          "--gpu-reset -i ",
          facts.uuid);
  }
  unsigned retiring = 0;
  if (call(f.retired_pages, device, &retiring) == NVML_SUCCESS && retiring == 1)
    return "waits for a reboot to retire broken pages of its memory";
  unsigned mig = 0, mig_pending = 0;
  if (call(f.mig_mode, device, &mig, &mig_pending) == NVML_SUCCESS && mig == 1)
    return cat("is in MIG mode, in which it cannot be used as a whole: run nvidia-smi -mig 0 -i ",
               facts.uuid);
  if (!facts.memory) return "does not tell how much memory it has";
  return {};
}

// A call that any live device answers; its failure is the device's.
std::string liveness(const Library& library, nvmlDevice_t device) {
  nvmlMemory_t memory{};
  nvmlReturn_t result = call(library.functions().memory, device, &memory);
  if (result == NVML_ERROR_GPU_IS_LOST) return std::string(kLost);
  if (result == NVML_ERROR_RESET_REQUIRED)
    return "needs a reset: run nvidia-smi --gpu-reset, or reboot";
  if (result == NVML_ERROR_UNKNOWN) return cat("does not answer: ", library.error_text(result));
  return {};
}

Result<Reading> read_initialised(const Library& library) {
  const Functions& f = library.functions();
  Reading out;
  std::string version = text_of<NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE>(f.driver_version);
  if (sane_word(version, ".")) out.driver_version = version;
  TRY(std::vector<Opened> opened, open_devices(library));
  std::vector<nvmlDevice_t> handles;
  for (size_t i = 0; i < opened.size(); ++i) {
    if (!opened[i].failure.empty()) {
      out.problems.push_back(
          cat("the device with NVML's index ", i, " cannot be identified: ", opened[i].failure));
      continue;
    }
    nvmlDevice_t device = opened[i].device;
    DeviceFacts facts{.uuid = std::move(opened[i].uuid)};
    facts.model = text_of<NVML_DEVICE_NAME_BUFFER_SIZE>(f.name, device);
    facts.pci = pci_of(f, device);
    facts.minor = minor_of(f, device);
    facts.compute_capability = capability_of(f, device);
    facts.numa_node = numa_node_of(f, device);
    facts.memory = memory_of(f, device);
    facts.fault = liveness(library, device);
    if (facts.fault.empty()) facts.fault = fault_of(f, device, facts);
    out.devices.push_back(std::move(facts));
    handles.push_back(device);
  }
  read_links(f, handles, out.devices);
  return out;
}

}  // namespace

Status start_nvml(const Library& library) {
  nvmlReturn_t result = library.functions().init();
  if (result == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
    return error(Code::kConflict, "driver/library version mismatch");
  if (result == NVML_ERROR_DRIVER_NOT_LOADED)
    return error(Code::kUnavailable, "the NVIDIA driver is not loaded: run modprobe nvidia");
  if (result != NVML_SUCCESS)
    return error(Code::kUnavailable, cat("NVML does not start: ", library.error_text(result)));
  return Ok;
}

Result<std::vector<Opened>> open_devices(const Library& library) {
  const Functions& f = library.functions();
  unsigned count = 0;
  nvmlReturn_t counted = f.count(&count);
  if (counted != NVML_SUCCESS)
    return error(Code::kUnavailable,
                 cat("NVML cannot count the devices: ", library.error_text(counted)));
  if (count > kDeviceLimit)
    return error(Code::kUnavailable, cat("NVML tells of ", count, " devices, which is absurd"));
  std::vector<Opened> out(count);
  for (unsigned i = 0; i < count; ++i) {
    nvmlReturn_t opened = f.handle(i, &out[i].device);
    if (opened != NVML_SUCCESS) {
      out[i].failure = library.error_text(opened);
      continue;
    }
    out[i].uuid = text_of<NVML_DEVICE_UUID_BUFFER_SIZE>(f.uuid, out[i].device);
    if (!out[i].uuid.starts_with("GPU-") || !sane_word(out[i].uuid, "-"))
      out[i].failure = "it has no UUID";
  }
  return out;
}

Result<Reading> read_devices(const Library& library) {
  return with_nvml(library, read_initialised);
}

}  // namespace tessera::accel::nvidia
