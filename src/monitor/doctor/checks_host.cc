#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "base/text.h"
#include "monitor/doctor/checks.h"

namespace tessera::monitor::checks {

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
// An image of a deep-learning framework is 5 to 10 GiB, and unpacking it needs it twice for a time.
constexpr uint64_t kLeastFree = 20 * kGiB;

struct Need {
  std::string_view program, package, purpose;
  Grade grade = Grade::kFault;
};
constexpr Need kNeeds[] = {
    {"containerd", "containerd", "run containers"},
    {"runc", "runc", "run containers"},
    {"skopeo", "skopeo", "fetch images"},
    {"umoci", "umoci", "unpack images"},
    {"nft", "nftables", "keep projects' networks apart"},
    {"buildah", "buildah", "build images (tessera image build)", Grade::kWarning},
    {"tini-static", "tini", "give containers an init (--init)", Grade::kWarning},
};

// The longest existing part of a path: what a folder that is yet to be made will lie on.
std::string existing(std::string path) {
  while (path.size() > 1 && !exists(path)) path.erase(path.find_last_of('/'));
  return path.empty() ? "/" : path;
}

}  // namespace

Findings programs(const Patient& patient) {
  Findings out;
  for (const Need& need : kNeeds)
    if (find_program(patient, need.program).empty())
      out.push_back({"programs", need.grade,
                     cat(need.program, " is not installed, which is needed to ", need.purpose), "",
                     cat("apt-get install ", need.package)});
  if (out.empty())
    out.push_back({"programs", Grade::kGood, "what containers need is installed", "", ""});
  return out;
}

Findings cgroups(const Patient& patient) {
  std::string v2 = text_of(patient, "/sys/fs/cgroup/cgroup.controllers");
  std::vector<std::string> missing;
  for (std::string name : {"cpu", "memory", "pids"}) {
    bool there = v2.empty()
                     ? exists(patient.path(cat("/sys/fs/cgroup/", name)))
                     : cat(" ", trim(v2), " ").find(cat(" ", name, " ")) != std::string::npos;
    if (!there) missing.push_back(name);
  }
  if (v2.empty() && !exists(patient.path("/sys/fs/cgroup/devices"))) missing.push_back("devices");
  std::string_view version = v2.empty() ? "version 1" : "version 2";
  if (missing.empty())
    return {{"cgroups", Grade::kGood,
             cat("control groups of ", version, " have all that is needed",
                 cgroups_are_systemds(patient) ? "; systemd makes those of containers" : ""),
             "/sys/fs/cgroup", ""}};
  return {
      {"cgroups", Grade::kFault,
       cat("control groups of ", version, " lack ", join(missing, ", "), ": limits would not hold"),
       "/sys/fs/cgroup",
       "boot with cgroup_enable=memory (version 1) or systemd.unified_cgroup_hierarchy=1"}};
}

Findings network(const Patient& patient) {
  if (exists(patient.path("/usr/lib/cni/bridge")) || exists(patient.path("/opt/cni/bin/bridge")))
    return {{"network", Grade::kGood, "the CNI plugins are installed", "", ""}};
  return {{"network", Grade::kFault,
           "the CNI plugins are not installed, so that containers have no network",
           "neither /usr/lib/cni/bridge nor /opt/cni/bin/bridge is there",
           "apt-get install containernetworking-plugins"}};
}

Findings shared_memory(const Patient& patient) {
  struct statvfs facts{};
  if (::statvfs(patient.path("/dev/shm").c_str(), &facts) != 0)
    return {{"shared-memory", Grade::kWarning, "/dev/shm is not mounted on this machine",
             "/dev/shm", "mount -t tmpfs tmpfs /dev/shm"}};
  if (facts.f_blocks > 0 && facts.f_bavail * 10 < facts.f_blocks)
    return {{"shared-memory", Grade::kWarning,
             "the machine's own /dev/shm is nearly full: what lies there takes memory from jobs",
             cat(facts.f_bavail * facts.f_frsize >> 20, " MiB free of ",
                 facts.f_blocks * facts.f_frsize >> 20),
             "ls -lS /dev/shm, then remove what programs that ended have left"}};
  return {{"shared-memory", Grade::kGood,
           "each container gets a /dev/shm of half its memory unless --shm-size says otherwise", "",
           ""}};
}

namespace {

// What a data folder lies on, when it had better not.
Findings file_system(const std::string& folder) {
  struct statfs facts{};
  if (::statfs(folder.c_str(), &facts) != 0) return {};
  auto finding = [&](std::string_view name, std::string_view why) -> Findings {
    return {{"disk", Grade::kFault, cat("the data folder lies on ", name, ", where ", why), folder,
             "choose one on a local disk with --data"}};
  };
  switch (static_cast<uint64_t>(facts.f_type)) {
    case NFS_SUPER_MAGIC:
      return finding("a network file system", "neither the store nor layers of images work");
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
      return finding("memory", "jobs and images are gone after a reboot");
    case OVERLAYFS_SUPER_MAGIC:
      return {{"disk", Grade::kWarning,
               "the data folder lies on an overlay, as in a container: each job copies its whole "
               "image",
               folder, "choose one on a disk or a volume with --data"}};
    default:
      return {};
  }
}

}  // namespace

Findings disk(const Patient& patient) {
  std::string folder = existing(patient.path(patient.data_folder));
  struct statvfs facts{};
  if (::statvfs(folder.c_str(), &facts) != 0)
    return {{"disk", Grade::kFault, cat("the disk of ", folder, " cannot be looked at"), folder,
             cat("df ", folder)}};
  if (Findings unfit = file_system(folder); !unfit.empty()) return unfit;
  uint64_t free = facts.f_bavail * facts.f_frsize;
  std::string evidence = cat(free / kGiB, " GiB free at ", folder);
  if (facts.f_files > 0 && facts.f_favail * 20 < facts.f_files)
    return {{"disk", Grade::kWarning, "the disk has few file entries (inodes) left", evidence,
             "tessera image ls, then tessera image rm what nobody needs"}};
  if (free < kLeastFree)
    return {{"disk", Grade::kWarning,
             cat("less than ", kLeastFree / kGiB, " GiB are free for images and logs"), evidence,
             "tessera image ls, then tessera image rm what nobody needs"}};
  return {{"disk", Grade::kGood, "there is room for images and logs", evidence, ""}};
}

Findings out_of_memory(const Patient& patient) {
  int64_t kills = 0;
  std::string last;
  for (const std::string& line : split(patient.kernel_log, '\n')) {
    // The kernel's own words; those for a container's limit name its cgroup.
    if (line.find("Out of memory: Killed process") == std::string::npos) continue;
    ++kills;
    last = trim(line);
  }
  if (kills == 0) return {};
  return {{"memory", Grade::kWarning,
           cat("the machine itself ran out of memory ", kills, kills == 1 ? " time" : " times",
               ": programs outside of containers take what jobs were promised"),
           last, "free -g; give jobs limits with --memory, or stop what is not Tessera's"}};
}

}  // namespace tessera::monitor::checks
