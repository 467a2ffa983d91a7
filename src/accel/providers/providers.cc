#include "accel/providers/providers.h"

#include "accel/nvidia/provider.h"
#include "accel/sim/provider.h"
#include "base/clock.h"

namespace tessera::accel {

std::vector<std::unique_ptr<Provider>> make_providers(const ProviderOptions& options) {
  std::vector<std::unique_ptr<Provider>> out;
  out.push_back(std::make_unique<nvidia::NvidiaProvider>(options));
  if (!options.sim_file.empty())
    out.push_back(std::make_unique<sim::SimProvider>(options, monotonic_ns));
  return out;
}

}  // namespace tessera::accel
