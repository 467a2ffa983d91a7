#include "core/sched/demand.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace tessera::sched {

Demand demand_of(const api::Resources& resources) {
  Demand demand;
  demand.selector = resources.accelerator.value_or(api::AcceleratorSelector{});
  demand.cpus = resources.cpus;
  demand.memory = resources.memory;
  demand.slice_memory = resources.gpuMemory;
  demand.slice_compute = resources.gpuCompute;
  int64_t milli = resources.gpus ? resources.gpus->value : demand.sliced() ? 1000 : 0;
  if (!resources.gpus && !demand.selector.devices.empty())
    milli = static_cast<int64_t>(demand.selector.devices.size()) * 1000;
  if (milli > 0 && milli < 1000) demand.fraction = MilliGpu{milli};
  demand.devices = (milli + 999) / 1000;
  return demand;
}

std::string describe(const Demand& demand) {
  if (demand.devices == 0) {
    std::string cpus = demand.cpus ? cat(format_milli(demand.cpus->value), " CPUs") : "CPU";
    return demand.memory ? cat(cpus, " and ", format_memory(*demand.memory), " of memory")
                         : cat(cpus, " and memory");
  }
  std::string model = demand.selector.model.empty() ? "" : cat(demand.selector.model, " ");
  std::string devices = plural(demand.devices, cat(model, "accelerator"));
  if (demand.fraction)
    return cat(format_milli(demand.fraction->value), " of an ", model, "accelerator");
  if (demand.slice_memory)
    return cat("a slice of ", format_memory(*demand.slice_memory), " on ", devices);
  if (demand.slice_compute)
    return cat("a slice of ", demand.slice_compute->value, " % of ", devices);
  return devices;
}

namespace {

// Labels of nodes and file names have '-' or '_' where a model's name has a blank.
std::string with_blanks(std::string_view model) {
  std::string out(model);
  for (char& c : out)
    if (c == '-' || c == '_') c = ' ';
  return out;
}

bool names_model(std::string_view wanted, std::string_view model) {
  std::string name = with_blanks(model);
  for (size_t begin = 0; begin <= wanted.size();) {
    size_t end = std::min(wanted.find('|', begin), wanted.size());
    std::string_view one = wanted.substr(begin, end - begin);
    if (!one.empty() && contains_ignoring_case(name, with_blanks(one))) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

bool matches(const Kind& kind, const Demand& demand) {
  const api::AcceleratorSelector& want = demand.selector;
  if (!want.vendor.empty() && lower(want.vendor) != lower(kind.vendor)) return false;
  if (!want.model.empty() && !names_model(want.model, kind.model)) return false;
  return !want.minMemory || kind.memory >= *want.minMemory;
}

bool names(const Device& device, const Demand& demand) {
  const std::vector<std::string>& named = demand.selector.devices;
  return named.empty() || std::ranges::any_of(named, [&](const std::string& name) {
           return name == device.uuid || name == cat(device.index);
         });
}

Share share_of(MiB whole, const Demand& demand) {
  Share share{.exclusive = !demand.sliced(), .memory = whole};
  if (share.exclusive) return share;
  if (demand.fraction) {
    share.memory = MiB{whole.value * demand.fraction->value / 1000};
    share.compute = Percent{std::max<int64_t>(1, demand.fraction->value / 10)};
  }
  if (demand.slice_memory) share.memory = *demand.slice_memory;
  if (demand.slice_compute) {
    share.compute = *demand.slice_compute;
  } else if (demand.slice_memory && !demand.fraction) {
    // Without a word about compute, a slice has as much of it as of the memory.
    int64_t part = share.memory.value * 100 / std::max<int64_t>(1, whole.value);
    share.compute = Percent{std::max<int64_t>(1, part)};
  }
  if (demand.slice_compute && !demand.slice_memory && !demand.fraction)
    share.memory = MiB{whole.value * demand.slice_compute->value / 100};
  return share;
}

MilliGpu charge_of(const Demand& demand) {
  return demand.fraction ? *demand.fraction : MilliGpu{1000 * demand.devices};
}

std::strong_ordering compare(const Demand& a, const Demand& b) {
  auto fields = [](const Demand& d) {
    return std::tie(d.devices, d.fraction, d.slice_memory, d.slice_compute, d.cpus, d.memory,
                    d.selector.vendor, d.selector.model, d.selector.minMemory, d.selector.devices);
  };
  return fields(a) <=> fields(b);
}

}  // namespace tessera::sched
