#include "core/sched/fit.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::sched {

namespace {

// Labels of nodes and file names have '-' or '_' where a model's name has a blank.
std::string with_blanks(std::string_view model) {
  std::string out(model);
  for (char& c : out)
    if (c == '-' || c == '_') c = ' ';
  return out;
}

}  // namespace

bool matches(const Device& device, const Demand& demand) {
  const api::AcceleratorSelector& want = demand.selector;
  if (!want.vendor.empty() && lower(want.vendor) != lower(device.vendor)) return false;
  if (!want.model.empty() &&
      !contains_ignoring_case(with_blanks(device.model), with_blanks(want.model)))
    return false;
  if (want.minMemory && device.memory < *want.minMemory) return false;
  if (want.devices.empty()) return true;
  return std::any_of(want.devices.begin(), want.devices.end(), [&](const std::string& name) {
    return name == device.uuid || name == cat(device.index);
  });
}

api::Allocation share_of(const Device& device, const Demand& demand) {
  api::Allocation share{.accelerator = device.uuid};
  share.exclusive = !demand.sliced();
  share.memory = device.memory;
  share.compute = Percent{100};
  if (share.exclusive) return share;
  if (demand.fraction) {
    share.memory = MiB{device.memory.value * demand.fraction->value / 1000};
    share.compute = Percent{std::max<int64_t>(1, demand.fraction->value / 10)};
  }
  if (demand.slice_memory) share.memory = *demand.slice_memory;
  if (demand.slice_compute) {
    share.compute = *demand.slice_compute;
  } else if (demand.slice_memory && !demand.fraction) {
    // Without a word about compute, a slice has as much of it as of the memory.
    share.compute = Percent{
        std::max<int64_t>(1, share.memory.value * 100 / std::max<int64_t>(1, device.memory.value))};
  }
  if (demand.slice_compute && !demand.slice_memory && !demand.fraction)
    share.memory = MiB{device.memory.value * demand.slice_compute->value / 100};
  return share;
}

namespace {

enum class DeviceState { kFree, kBusy, kFenced, kHeld, kTooSmall, kForeign };

DeviceState state_of(const Device& device, const Request& request, const Holds& holds) {
  api::Allocation share = share_of(device, request.demand);
  if (share.memory > device.memory) return DeviceState::kTooSmall;
  if (!device.healthy) return DeviceState::kFenced;
  if (share.exclusive ? !device.idle() : device.exclusive) return DeviceState::kBusy;
  if (!share.exclusive && !device.project.empty() && device.project != request.project)
    return DeviceState::kForeign;
  if (device.memory_held + share.memory > device.memory) return DeviceState::kBusy;
  if (device.compute_held + share.compute > Percent{100}) return DeviceState::kBusy;
  if (auto held = holds.find(device.uuid); held != holds.end() && held->second != request.job)
    return DeviceState::kHeld;
  return DeviceState::kFree;
}

struct Survey {
  std::vector<const Device*> free;
  int64_t matching = 0, busy = 0, fenced = 0, held = 0, too_small = 0, foreign = 0;
  std::string behind;
};

Survey survey(const NodeView& node, const Request& request, const Holds& holds) {
  Survey out;
  for (const Device& device : node.devices) {
    if (!matches(device, request.demand)) continue;
    ++out.matching;
    switch (state_of(device, request, holds)) {
      case DeviceState::kFree:
        out.free.push_back(&device);
        break;
      case DeviceState::kBusy:
        ++out.busy;
        break;
      case DeviceState::kFenced:
        ++out.fenced;
        break;
      case DeviceState::kTooSmall:
        ++out.too_small;
        break;
      case DeviceState::kForeign:
        ++out.foreign;
        break;
      case DeviceState::kHeld:
        ++out.held;
        out.behind = holds.at(device.uuid);
        break;
    }
  }
  return out;
}

// "1 of 8 is free (5 in use, 1 fenced, 1 kept for default/big)".
std::string describe(const NodeView& node, const Survey& seen) {
  std::vector<std::string> parts;
  if (seen.busy > 0) parts.push_back(cat(seen.busy, " in use"));
  if (seen.fenced > 0) parts.push_back(cat(seen.fenced, " fenced"));
  if (seen.foreign > 0) parts.push_back(cat(seen.foreign, " shared by another project"));
  if (seen.too_small > 0) parts.push_back(cat(seen.too_small, " too small"));
  if (seen.held > 0) parts.push_back(cat(seen.held, " kept for ", seen.behind));
  int64_t free = static_cast<int64_t>(seen.free.size());
  return cat("on ", node.name, " ", free, " of ", plural(seen.matching, "matching accelerator"),
             free == 1 ? " is" : " are", " free",
             parts.empty() ? "" : cat(" (", join(parts, ", "), ")"));
}

Fit no(Obstacle obstacle, std::string reason, std::string behind = {}) {
  return {.obstacle = obstacle,
          .reason = std::move(reason),
          .behind = std::move(behind),
          .assignment = {}};
}

// The free devices to take: for slices the fullest that still fits first when packing, so that
// whole devices stay whole; the lowest index on equal terms.
std::vector<const Device*> choose(std::vector<const Device*> free, const Demand& demand,
                                  const Policy& policy) {
  int64_t sign = policy.packing == Packing::kPack ? -1 : 1;
  std::stable_sort(free.begin(), free.end(), [&](const Device* a, const Device* b) {
    return std::pair(sign * a->memory_held.value, a->index) <
           std::pair(sign * b->memory_held.value, b->index);
  });
  free.resize(static_cast<size_t>(demand.devices));
  std::sort(free.begin(), free.end(),
            [](const Device* a, const Device* b) { return a->index < b->index; });
  return free;
}

// CPU and memory when the user named none: the part of the node that goes with its devices, or one
// core with its part of the memory.
void add_host_share(const NodeView& node, const Demand& demand, Assignment& out) {
  int64_t milli = 0;  // thousandths of a device, over all devices
  for (const api::Allocation& share : out.allocations) {
    if (share.exclusive)
      milli += 1000;
    else
      milli += share.compute.value * 10;
  }
  int64_t devices = std::max<int64_t>(1, static_cast<int64_t>(node.devices.size()));
  MilliCpu fair_cpus{std::min<int64_t>(1000, node.cpus.value)};
  if (milli > 0)
    fair_cpus = MilliCpu{std::max<int64_t>(10, node.cpus.value * milli / (devices * 1000))};
  int64_t of_node = std::max<int64_t>(1, node.cpus.value);
  MiB fair_memory{std::max<int64_t>(16, node.memory.value * fair_cpus.value / of_node)};
  out.cpus = demand.cpus.value_or(fair_cpus);
  out.memory = demand.memory.value_or(fair_memory);
}

}  // namespace

Fit fit(const NodeView& node, const Request& request, const Policy& policy, const Holds& holds) {
  const Demand& demand = request.demand;
  if (!node.open) return no(Obstacle::kClosed, cat(node.name, " ", node.closed_reason));

  Survey seen = survey(node, request, holds);
  if (seen.matching - seen.too_small < demand.devices) {
    std::string what =
        demand.selector.devices.empty() ? "matching accelerator" : "of the named accelerator";
    return no(Obstacle::kNeverFits,
              cat(node.name, " has ", plural(seen.matching - seen.too_small, what),
                  seen.too_small > 0 ? " that are large enough" : ""));
  }
  int64_t free = static_cast<int64_t>(seen.free.size());
  if (free < demand.devices) {
    bool behind = free + seen.held >= demand.devices;
    return no(behind ? Obstacle::kBehind : Obstacle::kBusy, describe(node, seen),
              behind ? seen.behind : "");
  }

  Fit out;
  out.assignment.node = node.name;
  for (const Device* device : choose(std::move(seen.free), demand, policy))
    out.assignment.allocations.push_back(share_of(*device, demand));
  add_host_share(node, demand, out.assignment);
  const Assignment& taken = out.assignment;
  if (taken.cpus > node.cpus || taken.memory > node.memory)
    return no(Obstacle::kNeverFits, cat(node.name, " has only ", format_milli(node.cpus.value),
                                        " CPUs and ", format_memory(node.memory)));
  if (taken.cpus > node.cpus_free)
    return no(Obstacle::kCpu, cat("on ", node.name, " ", format_milli(node.cpus_free.value), " of ",
                                  format_milli(node.cpus.value), " CPUs are free, ",
                                  format_milli(taken.cpus.value), " are needed"));
  if (taken.memory > node.memory_free)
    return no(Obstacle::kCpu, cat("on ", node.name, " ", format_memory(node.memory_free), " of ",
                                  format_memory(node.memory), " of memory are free, ",
                                  format_memory(taken.memory), " are needed"));
  return out;
}

}  // namespace tessera::sched
