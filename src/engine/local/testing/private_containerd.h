#pragma once
// For tests: a containerd of the test's own under a temporary folder, and nothing of it left after.

#include <memory>
#include <string>

#include "base/result.h"
#include "engine/local/containerd/containerd.h"
#include "engine/local/containerd/containerd_process.h"

namespace tessera::local {

// Why container tests cannot run here; empty when they can. Tests skip with it.
std::string missing_for_containers();

class PrivateContainerd {
 public:
  PrivateContainerd();  // started and answering, or the test program aborts
  ~PrivateContainerd();
  PrivateContainerd(const PrivateContainerd&) = delete;

  const std::string& folder() const { return folder_; }  // for the test's own files too
  std::string socket() const { return process_->socket(); }
  std::string root() const { return process_->root(); }
  std::string pid_file() const { return folder_ + "/d/containerd.pid"; }
  Containerd client() const { return Containerd::connect(socket()); }
  ContainerdProcess& process() { return *process_; }
  pid_t pid() const;
  // As kill -9 does; the watcher of process() starts it again.
  void kill() const;

 private:
  std::string folder_;
  std::unique_ptr<ContainerdProcess> process_;
};

}  // namespace tessera::local
