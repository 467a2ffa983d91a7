#pragma once
// A containerd of our own: apart from any other on the machine, started by us, outliving us.

#include <memory>
#include <string>

#include "base/result.h"

namespace tessera::local {

struct ContainerdOptions {
  std::string data_folder;  // images and snapshots, its configuration, log and pid file
  std::string run_folder;   // sockets and state; best on a tmpfs such as /run/tessera
  std::string program = "containerd";
};

// Keeps one daemon running. There is at most one for a data folder: an answering one is used as it
// is, whoever started it; a dead one is replaced at once, and its containers do not notice. Owned
// by the engine; methods may be called from any thread.
class ContainerdProcess {
 public:
  explicit ContainerdProcess(ContainerdOptions options);
  ~ContainerdProcess();  // stops watching; the daemon goes on
  ContainerdProcess(const ContainerdProcess&) = delete;

  std::string socket() const;
  std::string root() const;  // where its images and snapshots lie

  // Returns once it answers, and from then on replaces it whenever it dies.
  Status start();
  // Ends the daemon, for an uninstall. Its containers run on: remove them before.
  Status stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::local
