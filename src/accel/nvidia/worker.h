#pragma once
// One thread for calls that may never return.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/units.h"

namespace tessera::accel::nvidia {

// Owned by the provider and used by one thread at a time. There is at most one thread behind it,
// however often a call is late: a process stuck in the driver cannot be ended, but neither may it
// grow. When the owner goes while a call is stuck, the thread is left alone with what it uses.
class Worker {
 public:
  Worker() = default;
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs `job` on the thread and waits for its end; first for that of an earlier, late one. False
  // when `deadline` passed first: then `job` either never runs, or goes on unwatched, so it must
  // own all that it touches.
  bool run(Millis deadline, std::function<void()> job);

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> job;
    bool busy = false;
    bool stop = false;
  };
  static void loop(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;  // started by the first run()
};

}  // namespace tessera::accel::nvidia
