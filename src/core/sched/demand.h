#pragma once
// What a request wants of a device, without regard to what is free.

#include <compare>

#include "core/sched/plan.h"

namespace tessera::sched {

// All that a demand asks of a device but which one it is. Devices of a kind are a pool.
struct Kind {
  std::string vendor;
  std::string model;
  MiB memory;  // what tasks can use of it
  auto operator<=>(const Kind&) const = default;
};

// Whether devices of the kind would do. A model is a part of the name, in any case, with '-' and
// '_' as good as a blank; several acceptable ones are separated by '|'.
bool matches(const Kind& kind, const Demand& demand);
// Whether the demand names this very device, or none.
bool names(const Device& device, const Demand& demand);
inline Kind kind_of(const Device& device) {
  return {device.vendor, device.model, device.memory};
}
inline bool matches(const Device& device, const Demand& demand) {
  return matches(kind_of(device), demand) && names(device, demand);
}

// Memory and compute that the demand takes of a device with so much memory.
struct Share {
  bool exclusive = true;
  MiB memory;
  Percent compute{100};
};
Share share_of(MiB device_memory, const Demand& demand);

// What a task counts against its project's quota.
MilliGpu charge_of(const Demand& demand);

// A total order, so that demands can be keys.
std::strong_ordering compare(const Demand& a, const Demand& b);
struct DemandLess {
  bool operator()(const Demand& a, const Demand& b) const { return compare(a, b) < 0; }
};

}  // namespace tessera::sched
