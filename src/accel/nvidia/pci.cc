#include "accel/nvidia/pci.h"

#include <cstdio>

namespace tessera::accel::nvidia {

std::string PciAddress::text() const {
  char out[32];
  std::snprintf(out, sizeof out, "%08X:%02X:%02X.%X", domain, bus, device, function);
  return out;
}

std::string PciAddress::kernel_text() const {
  char out[32];
  std::snprintf(out, sizeof out, "%04x:%02x:%02x.%x", domain, bus, device, function);
  return out;
}

std::optional<PciAddress> parse_pci(std::string_view text) {
  PciAddress out;
  int used = 0;
  std::string copy(text);
  int got = std::sscanf(copy.c_str(), "%8x:%2x:%2x.%1x%n", &out.domain, &out.bus, &out.device,
                        &out.function, &used);
  if (got != 4 || static_cast<size_t>(used) != copy.size() || out.device > 31) return std::nullopt;
  return out;
}

}  // namespace tessera::accel::nvidia
