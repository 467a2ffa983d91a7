// What the devices are doing at this moment. Absurd numbers are dropped, as in reading.cc (C7).

#include "accel/nvidia/reading.h"
#include "base/text.h"

namespace tessera::accel::nvidia {

namespace {

// More programs than any device runs; NVML is asked for them until there is room for all.
constexpr unsigned kProcessLimit = 4096;
constexpr unsigned kCelsiusLimit = 200, kWattsLimit = 10'000;

// An answer below or at `most`, in units of `unit`.
template <class Function, class... Arguments>
std::optional<int64_t> number_of(unsigned most, unsigned unit, Function* function,
                                 Arguments... arguments) {
  unsigned value = 0;
  if (call(function, arguments..., &value) != NVML_SUCCESS || value / unit > most)
    return std::nullopt;
  return value / unit;
}

std::optional<Percent> percent(std::optional<int64_t> value) {
  if (!value) return std::nullopt;
  return Percent{*value};
}

std::optional<MiB> memory_used(const Functions& f, nvmlDevice_t device) {
  nvmlMemory_v2_t now{};
  now.version = NVML_MEMORY_V2;
  unsigned long long used = 0;
  if (call(f.memory_v2, device, &now) == NVML_SUCCESS) {
    used = now.used;
  } else {
    nvmlMemory_t old{};  // drivers before 510
    if (call(f.memory, device, &old) != NVML_SUCCESS) return std::nullopt;
    used = old.used;
  }
  if (used > kMemoryLimitBytes) return std::nullopt;
  return MiB{static_cast<int64_t>(used >> 20)};
}

template <class Function>
void add_processes(Function* function, nvmlDevice_t device, std::vector<Sample::Process>& out) {
  std::vector<nvmlProcessInfo_t> infos(16);
  unsigned count = 0;
  nvmlReturn_t result = NVML_ERROR_INSUFFICIENT_SIZE;
  while (result == NVML_ERROR_INSUFFICIENT_SIZE && infos.size() <= kProcessLimit) {
    infos.resize(infos.size() * 2);
    count = static_cast<unsigned>(infos.size());
    result = call(function, device, &count, infos.data());
  }
  if (result != NVML_SUCCESS || count > infos.size()) return;
  for (unsigned i = 0; i < count; ++i) {
    Sample::Process process{.pid = infos[i].pid, .memory = std::nullopt};
    if (infos[i].usedGpuMemory <= kMemoryLimitBytes)
      process.memory = MiB{static_cast<int64_t>(infos[i].usedGpuMemory >> 20)};
    out.push_back(process);
  }
}

Sample sample_of(const Functions& f, const Opened& opened) {
  nvmlDevice_t device = opened.device;
  Sample out{.uuid = opened.uuid};
  out.memory_used = memory_used(f, device);
  nvmlUtilization_t rates{};
  if (call(f.utilization, device, &rates) == NVML_SUCCESS && rates.gpu <= 100)
    out.utilization = Percent{rates.gpu};
  out.fan = percent(number_of(200, 1, f.fan, device));  // some fans go above their rated speed
  out.temperature_celsius =
      number_of(kCelsiusLimit, 1, f.temperature, device, unsigned{NVML_TEMPERATURE_GPU});
  out.power_watts = number_of(kWattsLimit, 1000, f.power, device);
  out.power_limit_watts = number_of(kWattsLimit, 1000, f.power_limit, device);
  if (auto state = number_of(NVML_PSTATE_15, 1, f.performance_state, device))
    out.performance_state = cat("P", *state);
  add_processes(f.compute_processes, device, out.processes);
  add_processes(f.graphics_processes, device, out.processes);
  return out;
}

Result<std::vector<Sample>> sample_initialised(const Library& library) {
  TRY(std::vector<Opened> opened, open_devices(library));
  std::vector<Sample> out;
  for (const Opened& one : opened)
    if (one.failure.empty()) out.push_back(sample_of(library.functions(), one));
  return out;
}

}  // namespace

Result<std::vector<Sample>> read_samples(const Library& library) {
  return with_nvml(library, sample_initialised);
}

}  // namespace tessera::accel::nvidia
