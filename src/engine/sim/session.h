#pragma once
// Exec and attach: a process of the machine, and a channel to whoever asked for it.

#include <memory>
#include <mutex>

#include "engine/engine.h"
#include "engine/sim/process.h"

namespace tessera::engine::sim {

// Where the output of a process goes, until it is closed. Delivers without the timeline's lock, on
// the thread that runs the timeline.
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  Channel(Timeline& timeline, SessionEvents events)
      : timeline_(timeline), events_(std::move(events)) {}

  // With the timeline's lock held:
  void output(int stream, std::string_view text);
  void exit(int exit_code);

  // Without it: nothing is delivered after it returns.
  void close();

 private:
  void deliver(std::function<void(const SessionEvents&)> call);

  Timeline& timeline_;
  const SessionEvents events_;
  std::recursive_mutex delivering_;  // recursive: a callback may end its own session
  bool closed_ = false;
};

}  // namespace tessera::engine::sim
