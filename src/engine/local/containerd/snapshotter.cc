#include "engine/local/containerd/snapshotter.h"

#include <sched.h>
#include <sys/mount.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

// In a mount namespace of a thread of its own: whenever this process dies, the mount goes with it.
bool overlay_works(const std::string& folder) {
  const std::string merged = folder + "/merged";
  const std::string options =
      cat("lowerdir=", folder, "/lower,upperdir=", folder, "/upper,workdir=", folder, "/work");
  bool works = false;
  std::thread([&] {
    works = ::unshare(CLONE_FS | CLONE_NEWNS) == 0 &&
            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            ::mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) == 0;
  }).join();
  return works;
}

}  // namespace

Result<std::string> pick_snapshotter(const std::string& storage) {
  TRY_STATUS(make_directories(storage, 0711));
  // Always the same folder, so that what a crash leaves is found.
  const std::string folder = storage + "/overlay-check";
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  for (const char* part : {"/lower", "/upper", "/work", "/merged"})
    TRY_STATUS(make_directories(folder + part));
  const bool works = overlay_works(folder);
  std::filesystem::remove_all(folder, ignored);
  return std::string(works ? "overlayfs" : "native");
}

}  // namespace tessera::local
