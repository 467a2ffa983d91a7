// How full a node is: packing takes the fullest, spreading the emptiest.

#include <algorithm>

#include "core/sched/scores/score.h"

namespace tessera::sched {

const Score kIdleDevices{.name = "idle devices", .value = [](const Placing& placing) -> int64_t {
                           return std::ranges::count_if(
                               placing.node.view.devices,
                               [](const Device& d) { return d.idle() && d.healthy; });
                         }};

const Score kFreeCpus{.name = "free CPUs", .value = [](const Placing& placing) -> int64_t {
                        return placing.node.view.cpus_free.value;
                      }};

}  // namespace tessera::sched
