// CPU and memory of the host.

#include <algorithm>

#include "base/text.h"
#include "core/sched/filters/filter.h"

namespace tessera::sched {

HostShare host_share(const NodeView& node, const Demand& demand, std::span<const Part> parts) {
  if (demand.cpus && demand.memory) return {*demand.cpus, *demand.memory};
  int64_t milli = 0;  // thousandths of a device, over all devices
  for (const Part& part : parts) milli += part.exclusive ? 1000 : part.compute.value * 10;
  int64_t devices = std::max<int64_t>(1, static_cast<int64_t>(node.devices.size()));
  MilliCpu fair_cpus{std::min<int64_t>(1000, node.cpus.value)};
  if (milli > 0)
    fair_cpus = MilliCpu{std::max<int64_t>(10, node.cpus.value * milli / (devices * 1000))};
  int64_t of_node = std::max<int64_t>(1, node.cpus.value);
  MiB fair_memory{std::max<int64_t>(16, node.memory.value * fair_cpus.value / of_node)};
  return {demand.cpus.value_or(fair_cpus), demand.memory.value_or(fair_memory)};
}

HostShare host_free(const Node& node, const Ask& ask) {
  HostShare free{node.view.cpus_free, node.view.memory_free};
  if (ask.passes_hold(node.hold)) return free;
  return {std::min(free.cpus, node.spare_cpus), std::min(free.memory, node.spare_memory)};
}

namespace {

Obstacle check(Candidate& c) {
  const NodeView& node = c.node->view;
  std::vector<Part> parts;
  bool fair = !c.ask->demand.cpus || !c.ask->demand.memory;
  for (int64_t i = 0; fair && i < c.ask->demand.devices; ++i)
    parts.push_back(part_of(c, c.free[static_cast<size_t>(i)]));
  HostShare wanted = host_share(node, c.ask->demand, parts);
  c.cpus = wanted.cpus;
  c.memory = wanted.memory;
  if (wanted.cpus > node.cpus || wanted.memory > node.memory) return Obstacle::kNeverFits;
  HostShare free = host_free(*c.node, *c.ask);
  bool fits = wanted.cpus <= free.cpus && wanted.memory <= free.memory;
  return fits ? Obstacle::kNone : Obstacle::kCpu;
}

std::string tell(const Candidate& c, Obstacle obstacle) {
  const NodeView& node = c.node->view;
  if (obstacle == Obstacle::kNeverFits)
    return cat(node.name, " has only ", format_milli(node.cpus.value), " CPUs and ",
               format_memory(node.memory));
  HostShare free = host_free(*c.node, *c.ask);
  if (c.cpus > free.cpus)
    return cat("on ", node.name, " ", format_milli(std::max<int64_t>(0, free.cpus.value)), " of ",
               format_milli(node.cpus.value), " CPUs are free, ", format_milli(c.cpus.value),
               " are needed");
  return cat("on ", node.name, " ", format_memory(std::max(MiB{0}, free.memory)), " of ",
             format_memory(node.memory), " of memory are free, ", format_memory(c.memory),
             " are needed");
}

}  // namespace

const Filter kHost{.name = "host", .check = check, .tell = tell};

}  // namespace tessera::sched
