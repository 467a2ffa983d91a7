#include "engine/local/mapped_devices.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

Result<std::vector<accel::cdi::DeviceNode>> find_mapped_devices(
    const std::vector<api::DeviceMapping>& wanted) {
  std::vector<accel::cdi::DeviceNode> out;
  for (const api::DeviceMapping& device : wanted) {
    struct stat facts{};
    if (::lstat(device.source.c_str(), &facts) != 0)
      return error(Code::kNotFound, cat("there is no device ", device.source, " on this node"));
    bool is_block = S_ISBLK(facts.st_mode);
    // A link may lead anywhere by now, also to a device that is not allowed.
    if (!is_block && !S_ISCHR(facts.st_mode))
      return error(Code::kInvalid, cat(device.source, " is no device"));
    out.push_back({.path = device.target.empty() ? device.source : device.target,
                   .hostPath = device.source,
                   .type = is_block ? "b" : "c",
                   .major = static_cast<int64_t>(major(facts.st_rdev)),
                   .minor = static_cast<int64_t>(minor(facts.st_rdev)),
                   .fileMode = facts.st_mode & 0777,
                   .permissions = device.permissions,
                   .uid = facts.st_uid,
                   .gid = facts.st_gid});
  }
  return out;
}

}  // namespace tessera::local
