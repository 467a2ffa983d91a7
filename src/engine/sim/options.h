#pragma once
// What a simulated machine is like, and what goes wrong on it.

#include <map>
#include <string>

#include "base/units.h"

namespace tessera::engine {

struct SimOptions {
  uint64_t seed = 1;
  std::string node = "sim";
  MilliCpu cpus{64'000};
  MiB memory{512 * 1024};
  Instant start{1'767'225'600'000};  // 2026-01-01: the virtual clock's first reading
  // True: time passes by itself, and the engine delivers from a thread of its own; for trying
  // Tessera by hand. False: only SimWorld::advance() moves it.
  bool real_time = false;
  Millis start_delay{100};  // from ensure() to a running container
  // How long a container runs whose command is none of our virtual programs.
  Millis shortest_run{1'000};
  Millis longest_run{120'000};
};

enum class SimFault {
  kStartFails,      // the container does not start: kStartFailed
  kStartSlow,       // it starts later, by `slow_start`
  kLost,            // it vanishes at its end: no observation, and list() no longer names it
  kExitDelayed,     // its exit is observed later, by `exit_delay`; its devices are free at once
  kExitDuplicated,  // its exit is observed a second time, after `exit_delay`
  kCallFails,       // a call fails with kUnavailable and did nothing
  kAnswerLost,      // a call fails with kTimeout although it was carried out
};

// Chances in percent, each drawn when it could happen. kLost and kExitDuplicated break the port's
// rules on purpose: machines do.
struct SimFaults {
  std::map<SimFault, int> percent;
  Millis slow_start{60'000};
  Millis exit_delay{30'000};
};

}  // namespace tessera::engine
