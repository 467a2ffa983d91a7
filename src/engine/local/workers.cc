#include "engine/local/workers.h"

#include <chrono>

#include "base/clock.h"

namespace tessera::local {

Workers::Workers(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

Workers::~Workers() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(std::function<void()> job, Millis after) {
  std::lock_guard lock(mutex_);
  jobs_.emplace(monotonic_ns() + after.value * 1'000'000, std::move(job));
  changed_.notify_one();
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (jobs_.empty()) {
      changed_.wait(lock);
      continue;
    }
    int64_t left_ns = jobs_.begin()->first - monotonic_ns();
    if (left_ns > 0) {
      changed_.wait_for(lock, std::chrono::nanoseconds(left_ns));
      continue;
    }
    auto job = std::move(jobs_.begin()->second);
    jobs_.erase(jobs_.begin());
    lock.unlock();
    job();
    job = {};  // what it holds may be destroyed while others wait for the lock
    lock.lock();
  }
}

}  // namespace tessera::local
