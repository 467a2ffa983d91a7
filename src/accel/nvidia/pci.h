#pragma once
// Where a device sits on the PCI bus. The order of addresses is the order of our indices (A8).

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::accel::nvidia {

struct PciAddress {
  uint32_t domain = 0;
  uint32_t bus = 0;
  uint32_t device = 0;
  uint32_t function = 0;
  auto operator<=>(const PciAddress&) const = default;

  std::string text() const;         // "00000000:3B:00.0", as nvidia-smi prints it
  std::string kernel_text() const;  // "0000:3b:00.0", as /sys and /proc have it
};

// Either form.
std::optional<PciAddress> parse_pci(std::string_view text);

}  // namespace tessera::accel::nvidia
