#pragma once
// The standard input of a container's process, as a session writes to it.

#include <mutex>
#include <string>
#include <string_view>

#include "base/file.h"
#include "engine/local/containerd/containerd.h"

namespace tessera::local {

// Owned by its session; used by several threads. The shim holds the pipe open, too: the program
// sees its end when the shim was told.
class SessionInput {
 public:
  // `exec` is empty for the container's own process. What waits ends when `until`, an eventfd that
  // outlives this, becomes readable.
  SessionInput(const Containerd& client, std::string container, std::string exec, const Fd& until)
      : client_(client), container_(std::move(container)), exec_(std::move(exec)), until_(until) {}

  // A pipe that the process was made with.
  void take(Fd pipe);
  Status send(std::string_view bytes);
  // Waits for a containerd that is away: whoever reads to the end would else wait for ever.
  Status close();

 private:
  const Containerd& client_;
  const std::string container_, exec_;
  const Fd& until_;
  std::mutex mutex_;
  Fd pipe_;
};

}  // namespace tessera::local
