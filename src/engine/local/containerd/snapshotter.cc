#include "engine/local/containerd/snapshotter.h"

#include <stdlib.h>
#include <sys/mount.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

Result<std::string> pick_snapshotter(const std::string& storage) {
  TRY_STATUS(make_directories(storage, 0711));
  std::string folder = storage + "/overlay-check-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return errno_error(cat("create a folder in ", storage));
  for (const char* part : {"/lower", "/upper", "/work", "/merged"})
    TRY_STATUS(make_directories(folder + part));
  const std::string merged = folder + "/merged";
  const std::string options =
      cat("lowerdir=", folder, "/lower,upperdir=", folder, "/upper,workdir=", folder, "/work");
  const bool works = ::mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) == 0;
  if (works) ::umount2(merged.c_str(), MNT_DETACH);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return std::string(works ? "overlayfs" : "native");
}

}  // namespace tessera::local
