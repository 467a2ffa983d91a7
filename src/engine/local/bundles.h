#pragma once
// What containerd and its shim keep of a container outside of containerd's database: a bundle
// folder, a process, a mount, runc's notes, a cgroup. A crash in the middle of a start or of an end
// leaves these without a task that could be deleted.

#include <set>
#include <string>

#include "base/result.h"
#include "engine/local/cgroup.h"

namespace tessera::local {

struct BundleFolders {
  std::string socket;  // containerd's
  std::string state;   // containerd's own, where its bundles are
  std::string root;
  std::string runc;  // runc's
};

// Thread-safe: it has no state of its own.
class Bundles {
 public:
  explicit Bundles(BundleFolders folders) : folders_(std::move(folders)) {}

  // The containers that have a bundle, a shim or notes of runc; cgroups are not looked at.
  std::set<std::string> list() const;
  bool has(const std::string& container, const Cgroup& cgroup) const;
  // It is older than the running containerd, or there is none: nobody works on it any more.
  bool is_stale(const std::string& container) const;
  // Ends its shim and its processes and removes the rest; for what no task stands for.
  Status clear(const std::string& container, const Cgroup& cgroup) const;
  // Whether runc's init still waits for the word to begin the program, or was never given it.
  bool awaits_start(const std::string& container) const;
  // The socket of a shim that is gone: one that was killed has left it.
  void remove_socket(const std::string& container) const;

 private:
  std::string state_folder(const std::string& container) const;
  std::string runc_folder(const std::string& container) const;
  Status end_helpers(const std::string& container) const;

  const BundleFolders folders_;
};

}  // namespace tessera::local
