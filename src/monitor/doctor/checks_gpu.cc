#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "monitor/doctor/checks.h"

namespace tessera::monitor::checks {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> entries(const Patient& patient, std::string_view folder) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator at(patient.path(folder), failure), end; !failure && at != end;
       at.increment(failure))
    names.push_back(at->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// Addresses of NVIDIA's display controllers (PCI class 03) on the bus.
std::vector<std::string> nvidia_on_the_bus(const Patient& patient) {
  std::vector<std::string> out;
  for (const std::string& address : entries(patient, "/sys/bus/pci/devices")) {
    std::string folder = cat("/sys/bus/pci/devices/", address);
    bool nvidia = trim(text_of(patient, folder + "/vendor")) == "0x10de";
    bool display = trim(text_of(patient, folder + "/class")).starts_with("0x03");
    if (nvidia && display) out.push_back(address);
  }
  return out;
}

bool driver_is_there(const Patient& patient) {
  return !module_version(patient).empty();
}

// Versions of the driver's library that a CDI spec mounts, "libcuda.so.550.54.15".
std::vector<std::string> library_versions(const std::string& spec) {
  constexpr std::string_view kName = "libcuda.so.";
  std::vector<std::string> out;
  for (size_t at = spec.find(kName); at != std::string::npos; at = spec.find(kName, at)) {
    at += kName.size();
    size_t end = std::min(spec.find_first_not_of("0123456789.", at), spec.size());
    std::string version = spec.substr(at, end - at);
    bool full = version.find('.') != std::string::npos;
    if (full && std::find(out.begin(), out.end(), version) == out.end()) out.push_back(version);
  }
  return out;
}

}  // namespace

Findings driver(const Patient& patient) {
  std::vector<std::string> devices = nvidia_on_the_bus(patient);
  std::string version = module_version(patient);
  std::string where = devices.empty() ? "" : cat("/sys/bus/pci/devices: ", join(devices, ", "));
  if (!version.empty())
    return {{"driver", Grade::kGood, cat("the NVIDIA driver ", version, " is loaded"),
             "/proc/driver/nvidia/version", ""}};
  if (devices.empty())
    return {{"driver", Grade::kGood, "there is no NVIDIA GPU on the PCI bus", "", ""}};
  std::string seen = plural(static_cast<int64_t>(devices.size()), "NVIDIA GPU");
  if (exists(patient.path("/sys/module/nouveau")))
    return {{"driver", Grade::kFault,
             cat(seen, devices.size() == 1 ? " is" : " are",
                 " on the bus, but the open driver nouveau holds the cards, which cannot compute"),
             cat(where, "; /sys/module/nouveau"), "apt-get install nvidia-driver && reboot"}};
  return {
      {"driver", Grade::kFault,
       cat(seen, devices.size() == 1 ? " is" : " are", " on the bus, but the driver is not loaded"),
       where, "modprobe nvidia || apt-get install nvidia-driver"}};
}

Findings device_nodes(const Patient& patient) {
  if (!driver_is_there(patient)) return {};
  std::vector<std::string> missing;
  for (std::string_view node : {"/dev/nvidiactl", "/dev/nvidia-uvm"})
    if (!exists(patient.path(node))) missing.emplace_back(node);
  if (missing.empty())
    return {{"device-nodes", Grade::kGood, "the driver's device nodes are there", "/dev", ""}};
  return {{"device-nodes", Grade::kWarning,
           "device nodes of the driver are missing, as after a boot before anyone used a GPU; "
           "Tessera makes them before a container starts",
           cat("not there: ", join(missing, ", ")), "nvidia-modprobe -u -c=0"}};
}

// When systemd reads its units anew, it forgets devices that it cannot find by number, and takes
// them from the containers that have them.
Findings device_links(const Patient& patient) {
  if (!driver_is_there(patient) || !cgroups_are_systemds(patient)) return {};
  if (exists(patient.path("/dev/char/195:255")))
    return {{"device-links", Grade::kGood, "the driver's devices have links by their numbers",
             "/dev/char", ""}};
  return {{"device-links", Grade::kFault,
           "the driver's devices have no links by their numbers, so that 'systemctl daemon-reload' "
           "takes the GPUs from containers that run",
           "/dev/char/195:255 is not there",
           "nvidia-ctk system create-dev-char-symlinks --create-all"}};
}

Findings accelerators(const Patient& patient) {
  Findings out;
  if (!patient.providers) return out;
  for (const auto& provider : *patient.providers) {
    auto seen = provider->scan();
    if (!seen.ok()) {
      out.push_back({"accelerators", Grade::kFault,
                     cat(provider->vendor(), ": ", seen.error().message), "", seen.error().hint});
      continue;
    }
    for (const std::string& problem : seen->problems)
      out.push_back(
          {"accelerators", Grade::kFault, cat(provider->vendor(), ": ", problem), "", ""});
    for (const api::Accelerator& device : seen->accelerators) {
      const api::AcceleratorStatus& status = device.status;
      bool healthy = status.health == api::Health::kHealthy;
      std::string name = cat(status.model, " ", status.index, " (", device.metadata.name, ")");
      if (healthy)
        out.push_back({"accelerators", Grade::kGood,
                       cat(name, " is healthy", status.simulated ? ", but SIMULATED" : ""), "",
                       ""});
      else
        out.push_back({"accelerators", Grade::kFault, cat(name, " ", status.message), "", ""});
    }
  }
  return out;
}

Findings cdi(const Patient& patient) {
  std::string version = module_version(patient);
  if (version.empty()) return {};
  Findings out;
  bool toolkit = !find_program(patient, "nvidia-ctk").empty();
  if (!toolkit)
    out.push_back({"cdi", Grade::kFault,
                   "NVIDIA's container toolkit is not installed, so no container can get a GPU",
                   "no nvidia-ctk in PATH", "apt-get install nvidia-container-toolkit"});
  for (std::string_view folder : {"/etc/cdi", "/var/run/cdi"})
    for (const std::string& name : entries(patient, folder)) {
      std::string file = cat(folder, "/", name);
      for (const std::string& of : library_versions(text_of(patient, file)))
        if (of != version)
          out.push_back({"cdi", Grade::kFault,
                         cat("a CDI specification is of driver ", of, ", but ", version,
                             " runs: containers get libraries that do not fit"),
                         file, cat("nvidia-ctk cdi generate --output=", file)});
    }
  if (out.empty())
    out.push_back({"cdi", Grade::kGood, "the container toolkit is installed", "nvidia-ctk", ""});
  return out;
}

Findings toolkit_settings(const Patient& patient) {
  constexpr std::string_view kFile = "/etc/nvidia-container-runtime/config.toml";
  for (const std::string& line : split(text_of(patient, kFile), '\n')) {
    std::string setting(trim(line));
    if (!setting.starts_with("ldconfig") || setting.find("\"@") != std::string::npos) continue;
    return {{"toolkit", Grade::kFault,
             "NVIDIA's container toolkit runs the ldconfig of the image, as root of this machine",
             cat(kFile, ": ", setting), cat("write ldconfig = \"@/sbin/ldconfig\" in ", kFile)}};
  }
  return {};
}

Findings xid(const Patient& patient) {
  // "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus." The first of a device
  // is the cause, the others follow from it.
  std::map<std::string, std::string> first;
  for (const std::string& line : split(patient.kernel_log, '\n')) {
    size_t at = line.find("NVRM: Xid (");
    if (at == std::string::npos) continue;
    size_t begin = at + std::string_view("NVRM: Xid (").size();
    size_t end = line.find(')', begin);
    if (end != std::string::npos)
      first.emplace(line.substr(begin, end - begin), std::string(trim(line.substr(at))));
  }
  Findings out;
  for (const auto& [device, line] : first)
    out.push_back({"xid", Grade::kWarning, cat("the driver has reported an error of ", device),
                   line,
                   "look the number up at docs.nvidia.com/deploy/xid-errors; 79 wants a reboot"});
  return out;
}

}  // namespace tessera::monitor::checks
