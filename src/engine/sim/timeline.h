#pragma once
// The clock of a simulated machine and what is due on it. One mutex guards the whole machine;
// actions run with it held, deliveries to whoever observes the machine without it.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "base/units.h"

namespace tessera::engine::sim {

using Lock = std::unique_lock<std::mutex>;

class Timeline {
 public:
  Timeline(Instant start, bool real_time) : now_(start), real_time_(real_time) {}

  Lock lock() { return Lock(mutex_); }

  // With the lock held:
  Instant now() const;
  void at(Instant due, std::function<void()> action);  // those due together run as scheduled
  void deliver(std::function<void()> callback);        // by the next run_until()
  std::optional<Instant> next() const;                 // when there is something to run
  void wake() { changed_.notify_all(); }               // who waits below: something has changed
  void wait(Lock& lock, Millis longest);               // of real time

  // Without it: runs what is due until `end`, then that is the time. By one thread at a time.
  void run_until(Instant end);

 private:
  void deliver_all(Lock& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  Instant now_;
  const bool real_time_;
  std::multimap<Instant, std::function<void()>> actions_;  // equal keys keep their order
  std::deque<std::function<void()>> deliveries_;
};

}  // namespace tessera::engine::sim
