#include "engine/local/cgroup_driver.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace tessera::local {

namespace {

// Trees as they were found on machines: only the paths that tell them apart.
struct Machine {
  const char* name;
  std::vector<std::string> files;
  CgroupDriver driver;
  bool swap_limit, cpu_quota;
};

const std::vector<Machine>& machines() {
  static const std::vector<Machine> kMachines = {
      {"Debian 12, hybrid, no systemd",
       {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "sys/fs/cgroup/cpu/cpu.shares",
        "sys/fs/cgroup/devices/devices.list", "sys/fs/cgroup/memory/memory.limit_in_bytes",
        "sys/fs/cgroup/memory/memory.memsw.limit_in_bytes",
        "sys/fs/cgroup/unified/cgroup.controllers", "sys/fs/cgroup/unified/cgroup.procs"},
       CgroupDriver::kV1,
       true,
       true},
      {"Ubuntu 20.04, hybrid, systemd; swapaccount=0",
       {"run/systemd/system/", "run/systemd/private", "run/dbus/system_bus_socket",
        "sys/fs/cgroup/cpu,cpuacct/cpu.shares", "sys/fs/cgroup/cpu/cpu.cfs_quota_us",
        "sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/systemd/init.scope/",
        "sys/fs/cgroup/unified/cgroup.controllers"},
       CgroupDriver::kV1,
       false,
       true},
      {"Ubuntu 22.04 and 24.04, systemd",
       {"run/systemd/system/", "run/systemd/private", "run/dbus/system_bus_socket",
        "sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/cgroup.subtree_control",
        "sys/fs/cgroup/init.scope/memory.current", "sys/fs/cgroup/system.slice/cpu.max",
        "sys/fs/cgroup/system.slice/memory.swap.max", "sys/fs/cgroup/user.slice/cpu.max"},
       CgroupDriver::kSystemd,
       true,
       true},
      {"cgroup v2 in a container without systemd",
       {"sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/init/memory.swap.max",
        "sys/fs/cgroup/init/cgroup.procs"},
       CgroupDriver::kV2,
       true,
       false},
      {"cgroup v2, systemd's folders but nobody who answers",
       {"run/systemd/system/", "sys/fs/cgroup/cgroup.controllers"},
       CgroupDriver::kV2,
       false,
       false},
  };
  return kMachines;
}

TEST(CgroupDriver, IsFoundOnRecordedTrees) {
  namespace fs = std::filesystem;
  for (const Machine& machine : machines()) {
    char name[] = "/tmp/tessera-cgroups-XXXXXX";
    fs::path root = ::mkdtemp(name);
    for (const std::string& file : machine.files) {
      fs::create_directories((root / file).parent_path());
      if (!file.ends_with('/')) std::ofstream(root / file) << "0\n";
    }
    CgroupFacts found = find_cgroups(root);
    EXPECT_EQ(found.driver, machine.driver) << machine.name;
    EXPECT_EQ(found.swap_limit, machine.swap_limit) << machine.name;
    EXPECT_EQ(found.cpu_quota, machine.cpu_quota) << machine.name;
    fs::remove_all(root);
  }
}

TEST(CgroupDriver, NamesForRuncAndForTheKernel) {
  EXPECT_EQ(cgroup_for_runc(CgroupDriver::kV1, "tessera-x", "u-0.1"), "/tessera-x/u-0.1");
  EXPECT_EQ(cgroup_path(CgroupDriver::kV2, "tessera-x", "u-0.1"), "/tessera-x/u-0.1");
  // runc's form is slice:prefix:name, and the scope that systemd makes of it:
  EXPECT_EQ(cgroup_for_runc(CgroupDriver::kSystemd, "tessera-x", "u-0.1"),
            "tessera.slice:tessera-x:u-0.1");
  EXPECT_EQ(cgroup_path(CgroupDriver::kSystemd, "tessera-x", "u-0.1"),
            "/tessera.slice/tessera-x-u-0.1.scope");
}

}  // namespace

}  // namespace tessera::local
