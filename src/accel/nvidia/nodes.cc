#include "accel/nvidia/nodes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <vector>

#include "accel/nvidia/host.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

namespace tessera::accel::nvidia {

namespace {

// Loading a module takes seconds at worst.
constexpr Millis kModprobeDeadline{30'000};
// nvidia.ko's own minor for the control device; the device nodes count from 0.
constexpr int64_t kControlMinor = 255;

struct Node {
  std::string name;                       // under /dev
  std::vector<std::string_view> drivers;  // its name in /proc/devices, newest first
  int64_t minor = 0;
  std::vector<std::string> modprobe;  // arguments that make nvidia-modprobe create it
};

std::vector<Node> wanted(int64_t device_minor) {
  std::vector<std::string_view> driver = {"nvidia", "nvidia-frontend"};
  return {{"nvidiactl", driver, kControlMinor, {"-c", cat(kControlMinor)}},
          {cat("nvidia", device_minor), driver, device_minor, {"-c", cat(device_minor)}},
          {"nvidia-uvm", {"nvidia-uvm"}, 0, {"-u", "-c", "0"}},
          {"nvidia-uvm-tools", {"nvidia-uvm"}, 1, {"-u", "-c", "0"}}};
}

// Major number of a character driver, from /proc/devices.
std::optional<int64_t> major_of(const std::string& root,
                                const std::vector<std::string_view>& drivers) {
  auto text = read_file(cat(root, "/proc/devices"));
  if (!text.ok()) return std::nullopt;
  for (std::string_view driver : drivers) {
    for (const std::string& line : split(*text, '\n')) {
      std::string_view row = trim(line);
      if (row.starts_with("Block devices")) break;
      size_t space = row.find(' ');
      if (space == std::string_view::npos || trim(row.substr(space)) != driver) continue;
      if (auto major = to_int(row.substr(0, space))) return major;
    }
  }
  return std::nullopt;
}

// The driver's parameters say who may open the nodes.
int64_t parameter(const std::string& root, std::string_view name, int64_t otherwise) {
  auto text = read_file(cat(root, "/proc/driver/nvidia/params"));
  if (!text.ok()) return otherwise;
  for (const std::string& line : split(*text, '\n')) {
    size_t colon = line.find(':');
    if (colon == std::string::npos || std::string_view(line).substr(0, colon) != name) continue;
    return to_int(trim(std::string_view(line).substr(colon + 1))).value_or(otherwise);
  }
  return otherwise;
}

Status make_node(const std::string& root, const Node& node) {
  std::string path = cat(root, "/dev/", node.name);
  auto major = major_of(root, node.drivers);
  if (!major)
    return error(
        Code::kUnavailable,
        cat("/dev/", node.name, " is missing and the kernel has no driver ", node.drivers[0]), {},
        cat("install nvidia-modprobe, or run modprobe ", node.drivers[0]));
  auto mode = static_cast<mode_t>(parameter(root, "DeviceFileMode", 0666));
  auto uid = static_cast<uid_t>(parameter(root, "DeviceFileUID", 0));
  auto gid = static_cast<gid_t>(parameter(root, "DeviceFileGID", 0));
  dev_t number =
      ::gnu_dev_makedev(static_cast<unsigned>(*major), static_cast<unsigned>(node.minor));
  if (::mknod(path.c_str(), S_IFCHR | mode, number) != 0 && errno != EEXIST)
    return errno_error(cat("make device node /dev/", node.name));
  // mknod is cut by the umask.
  if (::chmod(path.c_str(), mode) != 0 || ::chown(path.c_str(), uid, gid) != 0)
    return errno_error(cat("set permissions of /dev/", node.name));
  return Ok;
}

// systemd's device rules go by /dev/char/MAJOR:MINOR. The driver's nodes do not come through udev,
// so nobody else makes these links.
void link_char(const std::string& root, const std::string& name) {
  struct stat seen{};
  if (::stat(cat(root, "/dev/", name).c_str(), &seen) != 0 || !S_ISCHR(seen.st_mode)) return;
  if (!make_directories(cat(root, "/dev/char")).ok()) return;
  std::string link =
      cat(root, "/dev/char/", ::gnu_dev_major(seen.st_rdev), ":", ::gnu_dev_minor(seen.st_rdev));
  if (::symlink(cat("../", name).c_str(), link.c_str()) != 0 && errno != EEXIST)
    return;  // a machine without systemd needs none; the node itself is there
}

}  // namespace

Status ensure_nodes(const std::string& root, int64_t minor) {
  std::string tool = find_tool(root, "nvidia-modprobe");
  for (const Node& node : wanted(minor)) {
    std::string path = cat(root, "/dev/", node.name);
    if (!exists(path) && !tool.empty()) {
      std::vector<std::string> argv = {tool};
      argv.insert(argv.end(), node.modprobe.begin(), node.modprobe.end());
      // Whether it worked shows in the node alone: it exits 0 for some failures.
      TRY_STATUS(run_program({.argv = argv, .deadline = kModprobeDeadline}));
    }
    if (!exists(path)) TRY_STATUS(make_node(root, node));
    link_char(root, node.name);
  }
  return Ok;
}

}  // namespace tessera::accel::nvidia
