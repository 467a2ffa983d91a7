#pragma once
// The device nodes that CUDA needs, made before the first container needs them (A2).

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tessera::accel::nvidia {

// Makes sure that /dev/nvidiactl, /dev/nvidia<minor>, /dev/nvidia-uvm and /dev/nvidia-uvm-tools are
// under `root`, by nvidia-modprobe where it is installed (it loads the modules too), else with the
// numbers in /proc/devices. Also makes the links in /dev/char without which a systemd reload takes
// the devices from running containers (A1). Idempotent.
Status ensure_nodes(const std::string& root, int64_t minor);

}  // namespace tessera::accel::nvidia
