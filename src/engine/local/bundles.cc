#include "engine/local/bundles.h"

#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "engine/local/containerd/containerd.h"
#include "engine/local/containerd/daemon_pid.h"
#include "engine/local/containerd/digest.h"
#include "engine/local/shims.h"

namespace tessera::local {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRuntime = "/io.containerd.runtime.v2.task/";
// Compiled into containerd's shims: their sockets are here, whatever the configuration says.
constexpr const char* kShimSockets = "/run/containerd/s/";
// From SIGKILL to the end of a process; one that hangs in the kernel is left for the next try.
constexpr Millis kEndLimit{2'000};
constexpr int kPollMs = 10;

std::string shim_socket(const std::string& socket, const std::string& container) {
  std::string digest = sha256_digest(cat(socket, "/", kNamespace, "/", container));
  return kShimSockets + digest.substr(digest.find(':') + 1);
}

bool await_empty(const Cgroup& cgroup) {
  int64_t end = monotonic_ns() + kEndLimit.value * 1'000'000;
  while (!cgroup.is_empty()) {
    if (monotonic_ns() > end) return false;
    cgroup.kill();
    ::poll(nullptr, 0, kPollMs);
  }
  return true;
}

}  // namespace

std::string Bundles::state_folder(const std::string& container) const {
  return cat(folders_.state, kRuntime, kNamespace, "/", container);
}

bool Bundles::awaits_start(const std::string& container) const {
  return exists(runc_folder(container) + "/exec.fifo");  // libcontainer removes it with the start
}

std::string Bundles::runc_folder(const std::string& container) const {
  return cat(folders_.runc, "/", kNamespace, "/", container);
}

std::set<std::string> Bundles::list() const {
  std::set<std::string> out;
  std::error_code failure;
  for (const std::string& folder : {state_folder(""), runc_folder("")})
    for (const auto& entry : fs::directory_iterator(folder, failure))
      out.insert(entry.path().filename());
  for (const Shim& shim : find_shims(folders_.socket)) out.insert(shim.container);
  return out;
}

bool Bundles::has(const std::string& container, const Cgroup& cgroup) const {
  return exists(state_folder(container)) || exists(runc_folder(container)) || cgroup.exists() ||
         find_shim(folders_.socket, container) > 0;
}

bool Bundles::is_stale(const std::string& container) const {
  struct stat bundle{}, socket{};
  if (::stat(state_folder(container).c_str(), &bundle) != 0) return true;
  // containerd makes its socket anew each time it starts.
  if (::stat(folders_.socket.c_str(), &socket) != 0) return false;
  return std::pair(bundle.st_ctim.tv_sec, bundle.st_ctim.tv_nsec) <
         std::pair(socket.st_ctim.tv_sec, socket.st_ctim.tv_nsec);
}

// First its shims, of which there are more than one when starts were cut off one after the other;
// then what they had called, which would go on and make anew what is cleared away.
Status Bundles::end_helpers(const std::string& container) const {
  auto next = [&] {
    pid_t shim = find_shim(folders_.socket, container);
    return shim ? shim : find_runc(cat(folders_.runc, "/", kNamespace), container);
  };
  while (pid_t helper = next()) {
    Fd process = open_process(helper);
    signal_process(process, SIGKILL);
    if (process && !has_ended(process, static_cast<int>(kEndLimit.value)))
      return error(Code::kTimeout, cat("the shim of ", container, " cannot be killed"));
  }
  return Ok;
}

Status Bundles::clear(const std::string& container, const Cgroup& cgroup) const {
  TRY_STATUS(end_helpers(container));
  if (!await_empty(cgroup))
    return error(Code::kTimeout, cat("the processes of ", container, " do not end"));
  cgroup.remove();
  std::string state = state_folder(container);
  while (::umount2((state + "/rootfs").c_str(), MNT_DETACH) == 0) {
  }
  remove_socket(container);
  for (const std::string& path :
       {runc_folder(container), cat(folders_.root, kRuntime, kNamespace, "/", container), state}) {
    std::error_code failure;
    fs::remove_all(path, failure);
    // containerd may be clearing up at the same time.
    if (failure && failure != std::errc::no_such_file_or_directory)
      return error(Code::kInternal, cat("remove ", path, ": ", failure.message()));
  }
  return Ok;
}

void Bundles::remove_socket(const std::string& container) const {
  ::unlink(shim_socket(folders_.socket, container).c_str());
}

}  // namespace tessera::local
