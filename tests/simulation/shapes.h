#pragma once
// Jobs of random shapes.

#include <span>

#include "api/job.h"
#include "base/rng.h"

namespace tessera::simulation {

template <class T, size_t N>
const T& pick(Rng& rng, const T (&from)[N]) {
  return from[rng.below(N)];
}

// Valid, without name, project and uid.
api::Job random_job(Rng& rng);

// Whether it may end only when it is stopped.
bool runs_forever(const api::JobSpec& spec);

}  // namespace tessera::simulation
