#include "server/workers.h"

namespace tessera::server {

bool Workers::run(std::function<void()> task, bool queue_when_busy) {
  std::lock_guard lock(mutex_);
  bool free = idle_ > queue_.size() || threads_.size() < limit_;
  if (stopping_ || (!free && !queue_when_busy)) return false;
  queue_.push_back(std::move(task));
  if (idle_ < queue_.size() && threads_.size() < limit_) threads_.emplace_back([this] { loop(); });
  wake_.notify_one();
  return true;
}

void Workers::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (stopping_) return;
    std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes before the lock is taken again
    lock.lock();
  }
}

void Workers::stop() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tessera::server
