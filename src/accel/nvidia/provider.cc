#include "accel/nvidia/provider.h"

#include <algorithm>

#include "accel/nvidia/host.h"
#include "accel/nvidia/library.h"
#include "accel/nvidia/nodes.h"
#include "accel/nvidia/probe.h"
#include "accel/nvidia/reading.h"
#include "accel/nvidia/toolkit.h"
#include "base/text.h"

namespace tessera::accel::nvidia {

namespace {

constexpr std::string_view kGone =
    "fell off the bus: NVML no longer lists it; look for Xid 79 in the kernel log, then reset it "
    "or reboot";
constexpr std::string_view kUnlisted =
    "is bound to the driver but NVML does not list it: look in the kernel log, then reset it or "
    "reboot";

void fence(api::AcceleratorStatus& status, std::string_view why) {
  status.health = api::Health::kFenced;
  status.message = why;
}

}  // namespace

NvidiaProvider::NvidiaProvider(ProviderOptions options)
    : options_(std::move(options)), nvml_(std::make_shared<Nvml>()) {
  if (options_.nvml_library.empty()) options_.nvml_library = "libnvidia-ml.so.1";
  if (options_.nvml_probe.empty()) options_.nvml_probe = {"/proc/self/exe", "probe-nvml"};
}

NvidiaProvider::~NvidiaProvider() = default;

std::vector<std::string> NvidiaProvider::cdi_folders() const {
  return {cdi_folder(options_.data_folder)};
}

template <class T>
Result<T> NvidiaProvider::read_on_worker(Nvml& nvml, const ProviderOptions& options,
                                         Millis deadline, Read<T> how) {
  if (nvml.library && !nvml.library->current()) nvml.library.reset();
  if (!nvml.library) {
    TRY_STATUS(probe(options.nvml_probe, options.nvml_library, deadline));
    TRY(nvml.library, Library::open(options.nvml_library));
  }
  auto reading = how(*nvml.library);
  if (!reading.ok() && reading.error().code == Code::kConflict) {
    std::string module = module_version(options.host_root).value_or("");
    std::string library = nvml.library->file_version();
    std::string versions = module.empty() || library.empty()
                               ? ""
                               : cat(": the kernel module is ", module, ", the library ", library);
    nvml.library.reset();  // what is on the disk may fit again after the repair
    return error(Code::kConflict, cat("driver/library version mismatch", versions), {},
                 "reload the nvidia module, or reboot");
  }
  return reading;
}

template <class T>
Result<T> NvidiaProvider::read(Read<T> how) {
  auto answer = std::make_shared<std::optional<Result<T>>>();
  Millis limit = deadline_ * 2;
  bool done = worker_.run(limit, [answer, how, nvml = nvml_, options = options_, each = deadline_] {
    *answer = read_on_worker(*nvml, options, each, how);
  });
  if (done) return std::move(**answer);
  return error(Code::kTimeout,
               cat("the NVIDIA driver has not answered within ", format_duration(limit)), {},
               "look in the kernel log; a reboot may be needed");
}

Result<Inventory> NvidiaProvider::scan() {
  auto reading = read(read_devices);
  std::vector<std::string> problems;
  if (reading.ok()) {
    take(*reading);
    problems = reading->problems;
    std::string wrong = mismatch(reading->driver_version);
    if (!wrong.empty()) {
      fence_all(wrong);
      problems.push_back(wrong);
    }
  } else {
    // Without the library there is nothing to tell, unless there was something or the kernel
    // knows of something.
    take_kernel_devices();
    fence_all(reading.error().text());
    bool absent = reading.error().code == Code::kNotFound && known_.empty();
    if (!absent) problems.push_back(reading.error().text());
  }
  return inventory(std::move(problems));
}

std::string NvidiaProvider::mismatch(const std::string& driver_version) const {
  auto module = module_version(options_.host_root);
  if (!module || driver_version.empty() || *module == driver_version) return {};
  return cat("driver/library version mismatch: the kernel module is ", *module, ", the library ",
             driver_version, " (reload the nvidia module, or reboot)");
}

void NvidiaProvider::take(const Reading& reading) {
  driver_version_ = reading.driver_version;
  for (auto& [uuid, known] : known_) {
    bool seen = std::ranges::any_of(reading.devices,
                                    [&](const DeviceFacts& facts) { return facts.uuid == uuid; });
    if (!seen) fence(known.accelerator.status, known.listed ? kGone : kUnlisted);
  }
  for (const DeviceFacts& facts : reading.devices) take_device(facts, reading.driver_version);
  take_kernel_devices();
  link_all();
}

void NvidiaProvider::take_device(const DeviceFacts& facts, const std::string& driver_version) {
  Known& known = known_[facts.uuid];
  api::AcceleratorStatus& status = known.accelerator.status;
  api::AcceleratorStatus before = std::exchange(status, {});
  known.accelerator.metadata.name = facts.uuid;
  known.listed = true;
  known.pci = facts.pci ? facts.pci : known.pci;
  known.minor = facts.minor ? facts.minor : known.minor;
  status.vendor = "nvidia";
  // A device that falls ill stops telling some of its facts; those of its better days still hold.
  status.model = facts.model.empty() ? before.model : facts.model;
  status.memory = facts.memory.value_or(before.memory);
  status.pciBusId = known.pci ? known.pci->text() : "";
  status.computeCapability =
      facts.compute_capability.empty() ? before.computeCapability : facts.compute_capability;
  status.driverVersion = driver_version;
  status.cdiDevice = cdi_name(facts.uuid);
  auto node = known.pci ? numa_node(options_.host_root, *known.pci) : std::nullopt;
  status.numaNode = node ? node : facts.numa_node;
  known.links.clear();
  for (const LinkFacts& link : facts.links) known.links.emplace_back(link.peer, link.type);
  if (!facts.fault.empty()) fence(status, facts.fault);
}

// Devices that the kernel's driver holds but nobody has told us about are there, and not usable.
void NvidiaProvider::take_kernel_devices() {
  for (const KernelDevice& device : kernel_devices(options_.host_root)) {
    auto same = [&](const auto& entry) { return entry.second.pci == device.pci; };
    auto found = std::ranges::find_if(known_, same);
    if (found != known_.end() && !found->second.minor) found->second.minor = device.minor;
    if (found != known_.end() || device.uuid.empty()) continue;
    Known& known = known_[device.uuid];
    known.pci = device.pci;
    known.minor = device.minor;
    known.accelerator.metadata.name = device.uuid;
    api::AcceleratorStatus& status = known.accelerator.status;
    status.vendor = "nvidia";
    status.model = device.model;
    status.pciBusId = device.pci.text();
    status.numaNode = numa_node(options_.host_root, device.pci);
    status.cdiDevice = cdi_name(device.uuid);
    fence(status, kUnlisted);
  }
}

void NvidiaProvider::fence_all(const std::string& why) {
  for (auto& [uuid, known] : known_) fence(known.accelerator.status, why);
}

// Links name their peers by UUID, which is known only once all devices are.
void NvidiaProvider::link_all() {
  for (auto& [uuid, known] : known_) {
    std::vector<api::Link>& links = known.accelerator.status.links;
    links.clear();
    for (const auto& [address, type] : known.links)
      for (const auto& [peer, other] : known_)
        if (other.pci == address && peer != uuid) links.push_back({peer, type});
  }
}

Inventory NvidiaProvider::inventory(std::vector<std::string> problems) const {
  std::vector<const Known*> order;
  for (const auto& [uuid, known] : known_) order.push_back(&known);
  // A device without an address comes last; known_ has settled the order among such by UUID.
  std::ranges::stable_sort(order, [](const Known* a, const Known* b) {
    return std::pair(!a->pci, a->pci) < std::pair(!b->pci, b->pci);
  });
  Inventory out{.problems = std::move(problems)};
  for (const Known* known : order) {
    out.accelerators.push_back(known->accelerator);
    out.accelerators.back().status.index = static_cast<int64_t>(out.accelerators.size()) - 1;
  }
  return out;
}

Result<std::vector<Sample>> NvidiaProvider::sample() {
  auto samples = read(read_samples);
  if (!samples.ok() && samples.error().code == Code::kNotFound) return std::vector<Sample>();
  return samples;
}

Status NvidiaProvider::prepare(const api::Accelerator& accelerator) {
  const std::string& uuid = accelerator.metadata.name;
  if (!known_.contains(uuid)) TRY_STATUS(scan());
  auto found = known_.find(uuid);
  if (found == known_.end())
    return error(Code::kUnavailable, cat("GPU ", uuid, " is not in this machine"));
  const Known& known = found->second;
  const api::AcceleratorStatus& status = known.accelerator.status;
  if (status.health == api::Health::kFenced)
    return error(Code::kUnavailable, cat("GPU ", uuid, ": ", status.message));
  // The last scan may be a while ago; a module that was exchanged since is cheap to see.
  std::string wrong = mismatch(driver_version_);
  if (!wrong.empty()) return error(Code::kUnavailable, wrong);
  if (!known.minor)
    return error(Code::kUnavailable, cat("GPU ", uuid,
                                         ": the driver does not tell which "
                                         "/dev/nvidia node is its"));
  TRY_STATUS(ensure_nodes(options_.host_root, *known.minor));
  return ensure_spec(options_.host_root, options_.data_folder, uuid, driver_version_);
}

}  // namespace tessera::accel::nvidia
