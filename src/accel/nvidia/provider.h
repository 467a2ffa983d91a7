#pragma once
// NVIDIA devices, through NVML.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "accel/nvidia/pci.h"
#include "accel/nvidia/worker.h"
#include "accel/provider.h"

namespace tessera::accel::nvidia {

class Library;
struct DeviceFacts;
struct Reading;

// The two steps of a scan (trying the library elsewhere, reading it here) may each take this long.
// Without the persistence daemon the driver wakes each device up first, at about 2 s a device.
inline constexpr Millis kDeadline{20'000};

class NvidiaProvider : public Provider {
 public:
  explicit NvidiaProvider(ProviderOptions options);
  ~NvidiaProvider() override;

  std::string_view vendor() const override { return "nvidia"; }
  // A device that was seen once stays in the inventory, Fenced, until the server is restarted:
  // whoever counts devices must see that one is missing (C5).
  Result<Inventory> scan() override;
  Result<std::vector<Sample>> sample() override;
  Status prepare(const api::Accelerator& accelerator) override;
  std::vector<std::string> cdi_folders() const override;

  void set_deadline(Millis deadline) { deadline_ = deadline; }

 private:
  struct Known {
    api::Accelerator accelerator;
    std::optional<PciAddress> pci;
    std::optional<int64_t> minor;
    bool listed = false;  // by NVML, once
    std::vector<std::pair<PciAddress, std::string>> links;
  };
  // What lives on the worker's thread, and longer than the provider if that hangs.
  struct Nvml {
    std::unique_ptr<Library> library;
  };

  template <class T>
  using Read = Result<T> (*)(const Library& library);
  // Reads on the worker, which alone may hang.
  template <class T>
  Result<T> read(Read<T> how);
  template <class T>
  static Result<T> read_on_worker(Nvml& nvml, const ProviderOptions& options, Millis deadline,
                                  Read<T> how);
  void take(const Reading& reading);
  void take_device(const DeviceFacts& facts, const std::string& driver_version);
  void take_kernel_devices();
  void fence_all(const std::string& why);
  void link_all();
  Inventory inventory(std::vector<std::string> problems) const;
  // One sentence when module, library and what was read do not fit each other (A10).
  std::string mismatch(const std::string& driver_version) const;

  ProviderOptions options_;
  Millis deadline_ = kDeadline;
  std::map<std::string, Known> known_;  // by UUID
  std::string driver_version_;          // as last read
  std::shared_ptr<Nvml> nvml_;
  Worker worker_;
};

}  // namespace tessera::accel::nvidia
