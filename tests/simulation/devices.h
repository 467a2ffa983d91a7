#pragma once
// The accelerators of the simulated machine: they fall ill, vanish and come back.

#include "accel/provider.h"
#include "base/rng.h"

namespace tessera::simulation {

class Devices {
 public:
  Devices();
  std::string trouble(Rng& rng);  // something happens to one; in words
  void heal();                    // all are there and well

  accel::Inventory scan() const;
  Status prepare(const std::string& uuid);

 private:
  struct Device {
    api::Accelerator accelerator;
    bool present = true;
    bool prepares = true;
  };
  std::vector<Device> devices_;
};

// What a server sees of them.
class DeviceProvider : public accel::Provider {
 public:
  explicit DeviceProvider(Devices& devices) : devices_(devices) {}
  std::string_view vendor() const override { return "sim"; }
  Result<accel::Inventory> scan() override { return devices_.scan(); }
  Result<std::vector<accel::Sample>> sample() override { return std::vector<accel::Sample>(); }
  Status prepare(const api::Accelerator& accelerator) override {
    return devices_.prepare(accelerator.metadata.name);
  }
  std::vector<std::string> cdi_folders() const override { return {}; }

 private:
  Devices& devices_;
};

}  // namespace tessera::simulation
