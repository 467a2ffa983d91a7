#include "engine/local/rootfs.h"

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

// Any folder that every machine has: what is mounted over it is seen by this thread alone.
constexpr const char* kMountPoint = "/sys";

constexpr std::pair<std::string_view, unsigned long> kFlags[] = {
    {"ro", MS_RDONLY}, {"bind", MS_BIND}, {"rbind", MS_BIND | MS_REC}, {"rw", 0}};

Status mount_one(const Mount& mount) {
  unsigned long flags = 0;
  std::vector<std::string> data;
  for (const std::string& option : mount.options) {
    bool is_flag = false;
    for (auto [name, flag] : kFlags)
      if (option == name) {
        flags |= flag;
        is_flag = true;
      }
    if (!is_flag) data.push_back(option);
  }
  if (::mount(mount.source.c_str(), kMountPoint, mount.type.c_str(), flags,
              join(data, ",").c_str()) != 0)
    return errno_error(cat("mount a snapshot (", mount.type, ")"));
  return Ok;
}

Status look_here(const std::vector<Mount>& mounts,
                 const std::function<void(const std::string&)>& look) {
  if (::unshare(CLONE_FS | CLONE_NEWNS) != 0) return errno_error("make a mount namespace");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return errno_error("make mounts private");
  for (const Mount& mount : mounts) TRY_STATUS(mount_one(mount));
  look(kMountPoint);
  return Ok;
}

}  // namespace

Status with_rootfs(const std::vector<Mount>& mounts,
                   const std::function<void(const std::string&)>& look) {
  Status status = Ok;
  std::thread([&] { status = look_here(mounts, look); }).join();
  return status;
}

}  // namespace tessera::local
