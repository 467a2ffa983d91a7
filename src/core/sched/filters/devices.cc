// Devices of the right kind with enough room: healthy, not held, not shared by another project, not
// kept for a job ahead.

#include "base/text.h"
#include "core/sched/filters/filter.h"

namespace tessera::sched {

namespace {

bool has_room(const Device& device, const Share& share) {
  if (share.exclusive) return device.idle();
  return !device.exclusive && device.memory_held + share.memory <= device.memory &&
         device.compute_held + share.compute <= Percent{100};
}

int holder_of(const Candidate& c, size_t device) {
  auto kind = static_cast<size_t>(c.node->kinds[device]);
  bool whole_kind = kind < c.ask->closed.size() && c.ask->closed[kind] != kNotHeld;
  return whole_kind ? c.ask->closed[kind] : c.node->holds[device];
}

void look_at(Candidate& c, size_t i) {
  const Device& device = c.node->view.devices[i];
  const Ask::OfKind& of = c.ask->kinds[static_cast<size_t>(c.node->kinds[i])];
  if (!of.matches || !names(device, c.ask->demand)) return;
  ++c.matching;
  bool foreign = !of.share.exclusive && !device.exclusive && !device.project.empty() &&
                 device.project != c.ask->project;
  if (of.too_small) {
    ++c.too_small;
  } else if (!device.healthy) {
    ++c.fenced;
  } else if (foreign) {
    ++c.foreign;
  } else if (!has_room(device, of.share)) {
    ++c.busy;
  } else if (!c.ask->may_use(*c.node, i)) {
    ++c.held;
    c.holder = holder_of(c, i);
  } else {
    c.free.push_back(static_cast<int>(i));
  }
}

Obstacle check(Candidate& c) {
  int64_t wanted = c.ask->demand.devices;
  if (wanted == 0) return Obstacle::kNone;
  for (size_t i = 0; i < c.node->view.devices.size(); ++i) look_at(c, i);
  if (c.matching - c.too_small < wanted) return Obstacle::kNeverFits;
  auto free = static_cast<int64_t>(c.free.size());
  if (free >= wanted) return Obstacle::kNone;
  return free + c.held >= wanted ? Obstacle::kBehind : Obstacle::kBusy;
}

// "1 of 8 is free (5 in use, 1 fenced, 1 kept for default/big)".
std::string tell(const Candidate& c, Obstacle obstacle) {
  const std::string& node = c.node->view.name;
  if (obstacle == Obstacle::kNeverFits) {
    std::string what = c.ask->demand.selector.devices.empty() ? "matching accelerator"
                                                              : "of the named accelerator";
    return cat(node, " has ", plural(c.matching - c.too_small, what),
               c.too_small > 0 ? " that are large enough" : "");
  }
  std::vector<std::string> parts;
  if (c.busy > 0) parts.push_back(cat(c.busy, " in use"));
  if (c.fenced > 0) parts.push_back(cat(c.fenced, " fenced"));
  if (c.foreign > 0) parts.push_back(cat(c.foreign, " shared by another project"));
  if (c.too_small > 0) parts.push_back(cat(c.too_small, " too small"));
  if (c.held > 0)
    parts.push_back(
        cat(c.held, " kept for ", c.cluster->holds()[static_cast<size_t>(c.holder)].job));
  auto free = static_cast<int64_t>(c.free.size());
  return cat("on ", node, " ", free, " of ", plural(c.matching, "matching accelerator"),
             free == 1 ? " is" : " are", " free",
             parts.empty() ? "" : cat(" (", join(parts, ", "), ")"));
}

}  // namespace

const Filter kDevices{.name = "devices", .check = check, .tell = tell};

}  // namespace tessera::sched
