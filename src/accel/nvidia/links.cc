// How the devices of a machine reach each other.

#include <algorithm>
#include <map>

#include "accel/nvidia/reading.h"
#include "base/text.h"

namespace tessera::accel::nvidia {

namespace {

struct Level {
  unsigned code;
  std::string_view name;
};
// NVML's levels of the common ancestor, as nvidia-smi topo names them. 0 is two chips of one board.
constexpr Level kLevels[] = {{0, "PIX"},  {10, "PIX"},  {20, "PXB"},
                             {30, "PHB"}, {40, "NODE"}, {50, "SYS"}};

// Active NVLinks of one device: by peer, and into a switch behind which all others are.
struct NvLinks {
  std::map<PciAddress, int> to;
  int to_switch = 0;
};

NvLinks nvlinks_of(const Functions& f, nvmlDevice_t device) {
  NvLinks out;
  for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
    unsigned active = 0, type = 0;
    if (call(f.nvlink_state, device, link, &active) != NVML_SUCCESS || active != 1) continue;
    if (call(f.nvlink_type, device, link, &type) == NVML_SUCCESS &&
        type == NVML_NVLINK_DEVICE_TYPE_SWITCH) {
      ++out.to_switch;
      continue;
    }
    nvmlPciInfo_t remote{};
    if (call(f.nvlink_pci, device, link, &remote) == NVML_SUCCESS)
      ++out.to[PciAddress{remote.domain, remote.bus, remote.device, 0}];
  }
  return out;
}

std::string type_between(const Functions& f, nvmlDevice_t a, nvmlDevice_t b, const NvLinks& from,
                         const NvLinks& back, const PciAddress& peer) {
  auto direct = from.to.find(peer);
  int count = direct != from.to.end() ? direct->second : std::min(from.to_switch, back.to_switch);
  if (count > 0) return cat("NV", count);
  unsigned level = 0;
  if (call(f.common_ancestor, a, b, &level) != NVML_SUCCESS) return {};
  for (const Level& row : kLevels)
    if (row.code == level) return std::string(row.name);
  return {};
}

}  // namespace

void read_links(const Functions& f, const std::vector<nvmlDevice_t>& handles,
                std::vector<DeviceFacts>& devices) {
  if (handles.size() < 2) return;
  std::vector<NvLinks> links;
  for (nvmlDevice_t handle : handles) links.push_back(nvlinks_of(f, handle));
  for (size_t i = 0; i < handles.size(); ++i) {
    for (size_t j = 0; j < handles.size(); ++j) {
      if (i == j || !devices[j].pci) continue;
      std::string type =
          type_between(f, handles[i], handles[j], links[i], links[j], *devices[j].pci);
      if (!type.empty()) devices[i].links.push_back({*devices[j].pci, type});
    }
  }
}

}  // namespace tessera::accel::nvidia
