#include "accel/nvidia/host.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::accel::nvidia {

std::optional<std::string> module_version(const std::string& root) {
  auto text = read_file(cat(root, "/proc/driver/nvidia/version"));
  if (!text.ok()) return std::nullopt;
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.154.05  Thu Dec 28 …": of the words of
  // the first line, the first that is a version.
  std::string line = split(*text, '\n')[0];
  for (const std::string& word : split(line, ' ')) {
    bool version = !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) &&
                   word.find('.') != std::string::npos &&
                   word.find_first_not_of("0123456789.") == std::string::npos;
    if (version) return word;
  }
  return std::nullopt;
}

std::vector<KernelDevice> kernel_devices(const std::string& root) {
  std::vector<KernelDevice> out;
  std::error_code failure;
  std::filesystem::directory_iterator folder(cat(root, "/proc/driver/nvidia/gpus"), failure), end;
  for (; !failure && folder != end; folder.increment(failure)) {
    auto pci = parse_pci(folder->path().filename().string());
    auto text = read_file(folder->path() / "information");
    if (!pci || !text.ok()) continue;
    KernelDevice device{.pci = *pci};
    for (const std::string& line : split(*text, '\n')) {
      size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      std::string_view key = trim(std::string_view(line).substr(0, colon));
      std::string_view value = trim(std::string_view(line).substr(colon + 1));
      // A device that was not opened yet has question marks for a UUID.
      if (key == "GPU UUID" && value.find('?') == std::string_view::npos) device.uuid = value;
      if (key == "Model") device.model = value;
      if (key == "Device Minor") device.minor = to_int(value);
    }
    out.push_back(std::move(device));
  }
  std::ranges::sort(out, {}, &KernelDevice::pci);
  return out;
}

std::optional<int64_t> numa_node(const std::string& root, const PciAddress& pci) {
  auto text = read_file(cat(root, "/sys/bus/pci/devices/", pci.kernel_text(), "/numa_node"));
  auto node = text.ok() ? to_int(trim(*text)) : std::nullopt;
  return node && *node >= 0 ? node : std::nullopt;
}

std::string find_tool(const std::string& root, const std::string& name) {
  for (std::string_view folder :
       {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}) {
    std::string path = cat(root, folder, "/", name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace tessera::accel::nvidia
