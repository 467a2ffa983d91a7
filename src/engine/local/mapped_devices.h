#pragma once
// Devices of the machine that a job names by their paths.

#include <vector>

#include "accel/cdi_spec.h"
#include "api/container.h"
#include "base/result.h"

namespace tessera::local {

// As nodes to make in the container; an error for a path that is no device.
Result<std::vector<accel::cdi::DeviceNode>> find_mapped_devices(
    const std::vector<api::DeviceMapping>& wanted);

}  // namespace tessera::local
