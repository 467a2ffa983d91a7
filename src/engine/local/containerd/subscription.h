#pragma once
// What happens to tasks, as containerd tells it.

#include <functional>
#include <memory>
#include <string>

#include "base/units.h"
#include "engine/local/containerd/containerd.h"

namespace tessera::local {

struct Event {
  enum class What {
    kConnected,  // from now on nothing is missed; list again, for what came before may have been
    kDisconnected,
    kStarted,
    kExited,
    kOutOfMemory,  // the kernel's OOM killer was at work in the container
    kDeleted,
  };
  What what = What::kConnected;
  std::string container;
  std::string exec;        // kStarted, kExited, kDeleted: empty for the container's first process
  uint32_t pid = 0;        // kStarted, kExited, kDeleted
  uint32_t exit_code = 0;  // kExited, kDeleted: 128 + signal when a signal ended it
  Instant at;
};

// Owns a thread that follows the events of the client's namespace, connects again after containerd
// was away, and calls `on_event`, one event at a time and in order. `on_event` may make calls on
// the client, but must not destroy the subscription.
class Subscription {
 public:
  Subscription(const Containerd& client, std::function<void(const Event&)> on_event);
  ~Subscription();  // returns once on_event cannot be called any more
  Subscription(const Subscription&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::local
