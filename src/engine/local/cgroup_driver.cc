#include "engine/local/cgroup_driver.h"

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

// Ours among systemd's, so that an admin can limit all jobs at once.
constexpr std::string_view kSlice = "tessera.slice";

// Files of controllers are not in the root of the second hierarchy, but in each of its children.
bool any_child_has(const std::string& folder, const char* file) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure))
    if (exists(entry.path() / file)) return true;
  return false;
}

}  // namespace

std::string_view to_text(CgroupDriver driver) {
  switch (driver) {
    case CgroupDriver::kV1:
      return "cgroup v1";
    case CgroupDriver::kV2:
      return "cgroup v2";
    case CgroupDriver::kSystemd:
      return "cgroup v2 through systemd";
  }
  return {};
}

CgroupFacts find_cgroups(const std::string& root) {
  CgroupFacts out;
  const std::string tree = root + "/sys/fs/cgroup";
  // In a hybrid hierarchy the second version has no controllers, and a folder of its own.
  bool v2 = exists(tree + "/cgroup.controllers");
  if (!v2) {
    out.swap_limit = exists(tree + "/memory/memory.memsw.limit_in_bytes");
    out.cpu_quota = exists(tree + "/cpu/cpu.cfs_quota_us");
    return out;
  }
  out.swap_limit = any_child_has(tree, "memory.swap.max");
  out.cpu_quota = any_child_has(tree, "cpu.max");
  // sd_booted(3), and somebody to ask. In the first version nobody minds folders of ours; in the
  // second one writer owns the tree.
  bool booted = exists(root + "/run/systemd/system");
  bool answers =
      exists(root + "/run/systemd/private") || exists(root + "/run/dbus/system_bus_socket");
  out.driver = booted && answers ? CgroupDriver::kSystemd : CgroupDriver::kV2;
  return out;
}

std::string cgroup_prefix(CgroupDriver driver, std::string_view owner) {
  return driver == CgroupDriver::kSystemd ? cat("/", kSlice, "/", owner, "-")
                                          : cat("/", owner, "/");
}

std::string cgroup_for_runc(CgroupDriver driver, std::string_view owner,
                            std::string_view container) {
  if (driver == CgroupDriver::kSystemd) return cat(kSlice, ":", owner, ":", container);
  return cgroup_path(driver, owner, container);
}

std::string cgroup_path(CgroupDriver driver, std::string_view owner, std::string_view container) {
  return cat(cgroup_prefix(driver, owner), container,
             driver == CgroupDriver::kSystemd ? ".scope" : "");
}

}  // namespace tessera::local
