#pragma once
// CDI specs of NVIDIA devices: the machine's own, else one that nvidia-ctk writes for us (A12).

#include <string>

#include "base/result.h"

namespace tessera::accel::nvidia {

std::string cdi_name(std::string_view uuid);             // "nvidia.com/gpu=GPU-…"
std::string cdi_folder(const std::string& data_folder);  // where ours is kept

// Makes sure that the device's CDI name resolves: by a spec in /etc/cdi or /var/run/cdi under
// `root`, which goes first and makes ours superfluous, else by one in cdi_folder() that fits this
// driver version. Blocks while nvidia-ctk runs. The error says what to install or run.
Status ensure_spec(const std::string& root, const std::string& data_folder, const std::string& uuid,
                   const std::string& driver_version);

}  // namespace tessera::accel::nvidia
