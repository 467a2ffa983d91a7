#include "engine/sim/timeline.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace tessera::engine::sim {

Instant Timeline::now() const {
  return real_time_ ? std::max(now_, wall_now()) : now_;
}

void Timeline::at(Instant due, std::function<void()> action) {
  actions_.emplace(std::max(due, now_), std::move(action));
  wake();
}

void Timeline::deliver(std::function<void()> callback) {
  deliveries_.push_back(std::move(callback));
  wake();
}

std::optional<Instant> Timeline::next() const {
  if (!deliveries_.empty()) return now_;
  if (!actions_.empty()) return actions_.begin()->first;
  return std::nullopt;
}

void Timeline::wait(Lock& lock, Millis longest) {
  changed_.wait_for(lock, std::chrono::milliseconds(longest.value));
}

void Timeline::deliver_all(Lock& lock) {
  while (!deliveries_.empty()) {
    auto callback = std::move(deliveries_.front());
    deliveries_.pop_front();
    lock.unlock();
    callback();
    lock.lock();
  }
}

void Timeline::run_until(Instant end) {
  Lock held = lock();
  deliver_all(held);
  while (!actions_.empty() && actions_.begin()->first <= end) {
    now_ = std::max(now_, actions_.begin()->first);
    auto action = std::move(actions_.begin()->second);
    actions_.erase(actions_.begin());
    action();
    deliver_all(held);
  }
  now_ = std::max(now_, end);
  wake();
}

}  // namespace tessera::engine::sim
