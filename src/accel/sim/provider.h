#pragma once
// Devices that are not there: for trying Tessera, and testing it, on any machine. They take part in
// everything but computing: placement, sharing, faults, and device nodes that the kernel's device
// cgroup guards like real ones.

#include <functional>
#include <string>
#include <vector>

#include "accel/provider.h"
#include "accel/sim/file.h"

namespace tessera::accel::sim {

// 60 to 63 are the character majors that Linux keeps for local and experimental use, so no driver
// answers there: opening the node of an allocated device gives ENXIO, of another one EPERM.
inline constexpr int64_t kMajor = 60;

class SimProvider : public Provider {
 public:
  // `now_ns` is a clock that never steps.
  explicit SimProvider(ProviderOptions options, std::function<int64_t()> now_ns);

  std::string_view vendor() const override { return "sim"; }
  // Reads the file each time, so devices and faults can be changed under a running server. The
  // error names the field and the line of it that is wrong.
  Result<Inventory> scan() override;
  // Nothing computes, so nothing is measured.
  Result<std::vector<Sample>> sample() override { return std::vector<Sample>(); }
  Status prepare(const api::Accelerator& accelerator) override;
  std::vector<std::string> cdi_folders() const override;

 private:
  Result<File> read() const;
  std::vector<api::Accelerator> devices_of(const File& file) const;
  // Applies the faults of this scan; returns how long it takes.
  Millis befall(const File& file, std::vector<api::Accelerator>& devices) const;
  Status write_cdi(const std::vector<api::Accelerator>& devices) const;
  std::string cdi_file() const;

  ProviderOptions options_;
  std::function<int64_t()> now_ns_;
  int64_t started_ns_ = 0;
  int64_t scans_ = 0;
};

}  // namespace tessera::accel::sim
