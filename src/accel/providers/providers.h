#pragma once
// The list of vendors.

#include <memory>
#include <vector>

#include "accel/provider.h"

namespace tessera::accel {

// Every provider that this build has, in the order in which they are asked. The simulated one is
// among them only if `options.sim_file` names a file.
std::vector<std::unique_ptr<Provider>> make_providers(const ProviderOptions& options);

}  // namespace tessera::accel
