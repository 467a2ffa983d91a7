#include "engine/local/volumes.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

Fd open_at(int folder, const std::string& path, uint64_t resolve) {
  open_how how{.flags = O_PATH | O_CLOEXEC, .resolve = resolve | RESOLVE_NO_MAGICLINKS};
  return Fd(static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)));
}

// The part of `path` below `root`, "." for the root itself; nullopt when it lies elsewhere.
std::optional<std::string> below(const std::string& path, std::string_view root) {
  while (root.size() > 1 && root.ends_with('/')) root.remove_suffix(1);
  if (root == "/") return path.size() > 1 ? path.substr(1) : ".";
  if (path == root) return ".";
  if (!path.starts_with(root) || path[root.size()] != '/') return std::nullopt;
  std::string rest = path.substr(root.size() + 1);
  return rest.empty() ? "." : rest;
}

Error refusal(const std::string& source) {
  if (errno == ENOENT || errno == ENOTDIR)
    return error(Code::kNotFound, cat("volume source ", source, " does not exist on this node"), {},
                 "create it first");
  if (errno == EXDEV || errno == ELOOP)
    return error(Code::kPermissionDenied,
                 cat("volume source ", source, " leads out of the allowed folder by a link"));
  return errno_error(cat("open volume source ", source));
}

Result<Fd> open_source(const std::string& source, const std::vector<std::string>& allowed) {
  if (allowed.empty()) {
    Fd fd = open_at(AT_FDCWD, source, RESOLVE_NO_SYMLINKS);
    if (!fd) return refusal(source);
    return fd;
  }
  for (const std::string& root : allowed) {
    auto rest = below(source, root);
    if (!rest) continue;
    Fd folder = open_at(AT_FDCWD, root, 0);
    if (!folder) return refusal(root);
    Fd fd = open_at(folder.get(), *rest, RESOLVE_BENEATH);
    if (!fd) return refusal(source);
    return fd;
  }
  return error(Code::kPermissionDenied,
               cat("volume source ", source, " is not under a path that the project allows"), {},
               "an admin allows it with 'tessera project set PROJECT --add-host-path FOLDER'");
}

Status mount_at(const Fd& source, const std::string& target) {
  struct stat facts{};
  if (::fstat(source.get(), &facts) != 0) return errno_error("look at a volume's source");
  bool is_folder = S_ISDIR(facts.st_mode);
  if (is_folder && ::mkdir(target.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(cat("create ", target));
  if (!is_folder && !Fd(::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)))
    return errno_error(cat("create ", target));
  std::string path = cat("/proc/self/fd/", source.get());
  if (::mount(path.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return errno_error(cat("mount at ", target));
  return Ok;
}

void unpin(const std::string& path) {
  while (::umount2(path.c_str(), MNT_DETACH) == 0) {
  }
  // Never more than the empty mount point: what was mounted there is a user's data.
  if (::rmdir(path.c_str()) != 0) ::unlink(path.c_str());
}

}  // namespace

PinnedVolumes::~PinnedVolumes() {
  for (const BoundVolume& volume : bound_) unpin(volume.source);
}

Result<PinnedVolumes> pin_volumes(const std::vector<api::Volume>& volumes,
                                  const std::vector<std::string>& allowed,
                                  const std::string& folder) {
  PinnedVolumes out;
  if (!volumes.empty()) TRY_STATUS(make_directories(folder, 0700));
  for (const api::Volume& volume : volumes) {
    TRY(Fd source, open_source(volume.source, allowed));
    std::string pin = cat(folder, "/", out.bound_.size());
    unpin(pin);
    out.bound_.push_back({pin, volume.target, volume.readOnly});
    TRY_STATUS(mount_at(source, pin));
  }
  return out;
}

void unpin_leftovers(const std::string& folder) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure))
    unpin(entry.path());
  ::rmdir(folder.c_str());
}

}  // namespace tessera::local
