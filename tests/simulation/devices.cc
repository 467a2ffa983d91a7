#include "devices.h"

#include "base/text.h"

namespace tessera::simulation {

namespace {

constexpr struct {
  std::string_view model;
  MiB memory;
} kDevices[] = {{"H100", {81'920}}, {"H100", {81'920}}, {"H100", {81'920}},
                {"H100", {81'920}}, {"A100", {40'960}}, {"A100", {40'960}}};

}  // namespace

Devices::Devices() {
  int64_t index = 0;
  for (const auto& row : kDevices) {
    Device device;
    device.accelerator.metadata.name = cat("SIM-", index);
    device.accelerator.status.vendor = "sim";
    device.accelerator.status.model = std::string(row.model);
    device.accelerator.status.index = index++;
    device.accelerator.status.memory = row.memory;
    device.accelerator.status.simulated = true;
    devices_.push_back(std::move(device));
  }
}

std::string Devices::trouble(Rng& rng) {
  Device& device = devices_[rng.below(devices_.size())];
  api::AcceleratorStatus& status = device.accelerator.status;
  const std::string& name = device.accelerator.metadata.name;
  if (!device.present || status.health == api::Health::kFenced || !device.prepares) {
    device.present = device.prepares = true;
    status.health = api::Health::kHealthy;
    status.message.clear();
    return name + " is well again";
  }
  switch (rng.below(3)) {
    case 0:
      device.present = false;
      return name + " is gone";
    case 1:
      device.prepares = false;
      return name + " cannot be prepared any more";
    default:
      status.health = api::Health::kFenced;
      status.message = "XID 79: the device has fallen off the bus";
      return name + " is fenced";
  }
}

void Devices::heal() {
  for (Device& device : devices_) {
    device.present = device.prepares = true;
    device.accelerator.status.health = api::Health::kHealthy;
    device.accelerator.status.message.clear();
  }
}

accel::Inventory Devices::scan() const {
  accel::Inventory out;
  for (const Device& device : devices_)
    if (device.present) out.accelerators.push_back(device.accelerator);
  return out;
}

Status Devices::prepare(const std::string& uuid) {
  for (const Device& device : devices_)
    if (device.accelerator.metadata.name == uuid && device.present && device.prepares) return Ok;
  return error(Code::kUnavailable, cat("simulated fault: ", uuid, " has no device node"));
}

}  // namespace tessera::simulation
