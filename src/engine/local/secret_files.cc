#include "engine/local/secret_files.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

// Beside the contents: a page for each file and folder.
constexpr size_t kPage = 4096;

Status write_secret(const std::string& path, const engine::SecretFile& file, const User& owner) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return errno_error(cat("create ", path));
  std::string_view rest = file.content;
  while (!rest.empty()) {
    ssize_t written = ::write(fd.get(), rest.data(), rest.size());
    if (written < 0 && errno != EINTR) return errno_error(cat("write ", path));
    if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
  }
  if (::fchown(fd.get(), static_cast<uid_t>(owner.uid), static_cast<gid_t>(owner.gid)) != 0 ||
      ::fchmod(fd.get(), static_cast<mode_t>(file.mode)) != 0)
    return errno_error(cat("give ", path, " to its owner"));
  return Ok;
}

}  // namespace

Result<SecretFiles> SecretFiles::make(const std::vector<engine::SecretFile>& files,
                                      const User& owner, const std::string& folder) {
  if (files.empty()) return SecretFiles(std::string());
  clear(folder);
  TRY_STATUS(make_directories(folder, 0700));
  size_t bytes = kPage;
  for (const engine::SecretFile& file : files) bytes += file.content.size() + 2 * kPage;
  std::string options = cat("mode=0711,size=", bytes);
  if (::mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              options.c_str()) != 0)
    return errno_error(cat("mount a tmpfs at ", folder));
  SecretFiles out(folder);
  for (const engine::SecretFile& file : files) {
    std::string path = cat(folder, "/", out.bound_.size());
    TRY_STATUS(write_secret(path, file, owner));
    out.bound_.push_back({path, file.path, true});
  }
  return out;
}

SecretFiles::SecretFiles(SecretFiles&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), bound_(std::move(other.bound_)) {}

SecretFiles::~SecretFiles() {
  if (!folder_.empty()) clear(folder_);
}

void SecretFiles::clear(const std::string& folder) {
  while (::umount2(folder.c_str(), MNT_DETACH) == 0) {
  }
  ::rmdir(folder.c_str());
}

}  // namespace tessera::local
