#pragma once
// The only places that ask what time it is. The core never includes this file (tests/tidy checks).

#include "base/units.h"

namespace tessera {

Instant wall_now();
// Nanoseconds on a clock that never steps: for measuring, deadlines and benchmarks.
int64_t monotonic_ns();

}  // namespace tessera
