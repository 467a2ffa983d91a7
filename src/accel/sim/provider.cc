#include "accel/sim/provider.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "accel/cdi_spec.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"

namespace tessera::accel::sim {

namespace {

constexpr std::string_view kKind = "tessera.dev/sim";

// The same for the same seed and index on every machine and in every version.
std::string uuid_of(std::string_view seed, int64_t index) {
  uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  for (char c : seed) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  Rng rng = Rng(hash).fork(static_cast<uint64_t>(index));
  uint64_t a = rng.next(), b = rng.next();
  char out[48];
  std::snprintf(out, sizeof out, "SIM-%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(a >> 32),
                static_cast<unsigned>(a >> 16 & 0xffff), static_cast<unsigned>(a & 0xffff),
                static_cast<unsigned>(b >> 48),
                static_cast<unsigned long long>(b & 0xffffffffffff));
  return out;
}

// Position of each device's group in the file.
std::vector<size_t> groups_of(const File& file) {
  std::vector<size_t> out;
  for (size_t i = 0; i < file.devices.size(); ++i)
    out.insert(out.end(), static_cast<size_t>(file.devices[i].count), i);
  return out;
}

std::string link_between(const File& file, const std::vector<size_t>& groups, size_t a, size_t b) {
  for (const Pair& pair : file.links) {
    auto [low, high] = std::minmax(pair.between[0], pair.between[1]);
    if (low == static_cast<int64_t>(std::min(a, b)) && high == static_cast<int64_t>(std::max(a, b)))
      return pair.type;
  }
  const Group &first = file.devices[groups[a]], &second = file.devices[groups[b]];
  if (groups[a] == groups[b] && !first.link.empty()) return first.link;
  return first.numaNode == second.numaNode ? "NODE" : "SYS";
}

bool stands(const Fault& fault, int64_t scan, int64_t elapsed_ms) {
  bool begun = scan >= fault.fromScan && elapsed_ms >= fault.after.value;
  bool over = (fault.toScan && scan > *fault.toScan) ||
              (fault.lasts && elapsed_ms >= fault.after.value + fault.lasts->value);
  return begun && !over;
}

}  // namespace

SimProvider::SimProvider(ProviderOptions options, std::function<int64_t()> now_ns)
    : options_(std::move(options)), now_ns_(std::move(now_ns)), started_ns_(now_ns_()) {}

std::string SimProvider::cdi_file() const {
  return cat(options_.data_folder, "/cdi/sim/sim.json");
}

std::vector<std::string> SimProvider::cdi_folders() const {
  return {cat(options_.data_folder, "/cdi/sim")};
}

Result<File> SimProvider::read() const {
  TRY(std::string text, read_file(options_.sim_file));
  return parse(text).in(options_.sim_file);
}

std::vector<api::Accelerator> SimProvider::devices_of(const File& file) const {
  std::vector<size_t> groups = groups_of(file);
  std::vector<api::Accelerator> out(groups.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const Group& group = file.devices[groups[i]];
    out[i].metadata.name = uuid_of(file.seed, static_cast<int64_t>(i));
    api::AcceleratorStatus& status = out[i].status;
    status.vendor = "sim";
    status.model = cat("Simulated ", group.model);
    status.index = static_cast<int64_t>(i);
    status.memory = group.memory ? *group.memory : *memory_by_name(group.model);
    status.numaNode = group.numaNode;
    status.computeCapability = group.computeCapability;
    status.driverVersion = file.driverVersion;
    status.cdiDevice = cat(kKind, "=", out[i].metadata.name);
    status.simulated = true;
  }
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t j = 0; j < out.size(); ++j)
      if (i != j)
        out[i].status.links.push_back({out[j].metadata.name, link_between(file, groups, i, j)});
  return out;
}

Millis SimProvider::befall(const File& file, std::vector<api::Accelerator>& devices) const {
  int64_t elapsed_ms = (now_ns_() - started_ns_) / 1'000'000;
  Millis delay;
  for (const Fault& fault : file.faults) {
    if (!stands(fault, scans_, elapsed_ms)) continue;
    if (fault.is == Ill::kSlow) {
      delay = std::max(delay, fault.delay);
      continue;
    }
    std::string_view what = fault.is == Ill::kLost ? "fell off the bus" : "was fenced by its file";
    api::AcceleratorStatus& status = devices[static_cast<size_t>(fault.device)].status;
    status.health = api::Health::kFenced;
    status.message = cat(fault.message.empty() ? what : fault.message, " (simulated)");
  }
  return delay;
}

// One device node each, with numbers, since the host has no such nodes. One variable each, since
// edits of several devices cannot share one.
Status SimProvider::write_cdi(const std::vector<api::Accelerator>& devices) const {
  cdi::Spec spec{.kind = std::string(kKind)};
  for (const api::Accelerator& device : devices) {
    int64_t index = device.status.index;
    cdi::DeviceNode node{.path = cat("/dev/tessera-sim", index),
                         .type = "c",
                         .major = kMajor,
                         .minor = index,
                         .fileMode = 0666,
                         .permissions = "rw"};
    spec.devices.push_back(
        {.name = device.metadata.name,
         .containerEdits = {.env = {cat("TESSERA_SIM_DEVICE_", index, "=", device.metadata.name)},
                            .deviceNodes = {node}}});
  }
  return cdi::write_spec(std::move(spec), cdi_file());
}

Result<Inventory> SimProvider::scan() {
  if (options_.sim_file.empty()) return Inventory{};
  TRY(File file, read());
  ++scans_;
  Inventory out{.accelerators = devices_of(file)};
  Millis delay = befall(file, out.accelerators);
  if (delay.value > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay.value));
  TRY_STATUS(write_cdi(out.accelerators));
  return out;
}

Status SimProvider::prepare(const api::Accelerator& accelerator) {
  TRY(File file, read());
  std::vector<api::Accelerator> devices = devices_of(file);
  befall(file, devices);
  for (const api::Accelerator& device : devices) {
    if (device.metadata.name != accelerator.metadata.name) continue;
    if (device.status.health == api::Health::kFenced)
      return error(Code::kUnavailable,
                   cat("device ", device.metadata.name, ": ", device.status.message));
    return write_cdi(devices);
  }
  return error(Code::kUnavailable,
               cat("device ", accelerator.metadata.name, " is not in ", options_.sim_file));
}

}  // namespace tessera::accel::sim
