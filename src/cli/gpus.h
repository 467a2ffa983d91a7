#pragma once
// --gpus as docker parses it, and the older way by NVIDIA_VISIBLE_DEVICES. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tessera::cli {

struct GpuRequest {
  enum class What { kNone, kCount, kAll, kDevices };
  What what = What::kNone;
  MilliGpu count;                    // kCount
  std::vector<std::string> devices;  // kDevices: by index or UUID
  std::string vendor;                // from driver=; any when empty
  std::string capabilities;          // comma separated, for NVIDIA_DRIVER_CAPABILITIES

  bool operator==(const GpuRequest&) const = default;
};

// docker's value, one CSV record: 2, all, count=2, device=0, '"device=0,1"', driver=nvidia,
// capabilities=…. Beyond docker: a part of a device (0.5), and device=0,1 without the quotes, which
// docker's daemon refuses.
Result<GpuRequest> parse_gpus(std::string_view value);

// "0,1", "GPU-…", "all"; "none", "void" and empty ask for no device.
Result<GpuRequest> parse_visible_devices(std::string_view value);

}  // namespace tessera::cli
