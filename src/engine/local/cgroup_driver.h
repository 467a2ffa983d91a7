#pragma once
// Which kind of cgroups this machine has, and who may make them: found once, when the engine
// starts. Pure but for the files below `root`.

#include <string>
#include <string_view>

namespace tessera::local {

enum class CgroupDriver {
  kV1,       // a tree for each controller; folders are made as they are
  kV2,       // one tree, and nobody else looks after it
  kSystemd,  // one tree that belongs to systemd: cgroups are its scopes
};
std::string_view to_text(CgroupDriver driver);

struct CgroupFacts {
  CgroupDriver driver = CgroupDriver::kV1;
  bool swap_limit = false;  // the kernel counts swap for cgroups
  bool cpu_quota = false;   // it has CFS bandwidth control
  bool v2() const { return driver != CgroupDriver::kV1; }
};

// `root`: of the file system, empty for the machine's own.
CgroupFacts find_cgroups(const std::string& root = {});

// What all paths of an engine's cgroups begin with, up to the container's name.
std::string cgroup_prefix(CgroupDriver driver, std::string_view owner);
// A container's cgroup as runc is told of it, and as a path below the hierarchy's mount. `owner`:
// the engine's own name, the first part of all of its cgroups'.
std::string cgroup_for_runc(CgroupDriver driver, std::string_view owner,
                            std::string_view container);
std::string cgroup_path(CgroupDriver driver, std::string_view owner, std::string_view container);

}  // namespace tessera::local
