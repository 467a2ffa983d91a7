#pragma once
// Which jobs share devices in turns: what one does on the CPU or the network leaves the accelerator
// to the others of its group. Groups are of jobs of equal size.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/sched/order/logarithm.h"

namespace tessera::sched {

struct Sharer {
  int64_t devices = 0;
  size_t kind = 0;  // jobs of one kind and size share alike
  Log value;        // of letting it run at its full speed; only differences mean something
};

constexpr int64_t kFullSpeed = 1 << 16;
constexpr size_t kGroupLimit = 4;  // with more a round is longer than its members gain

// How fast each member of a group runs, by their kinds in ascending order.
using Speeds = std::function<std::vector<int64_t>(int64_t devices, const std::vector<size_t>&)>;

// Groups (positions in the list; of one: it runs alone) that fit into `capacity` devices together.
// If all fit alone, they run alone. Else devices get a price, and a group is made when the value of
// its speeds exceeds its price and what its members would be worth alone beyond theirs; the price
// is the least at which what is wanted fits. What then is left free goes by value for each device.
std::vector<std::vector<size_t>> grouped(std::span<const Sharer> sharers, int64_t capacity,
                                         const Speeds& speeds);

}  // namespace tessera::sched
