#include "accel/nvidia/worker.h"

#include <chrono>

namespace tessera::accel::nvidia {

Worker::~Worker() {
  if (!thread_.joinable()) return;
  bool stuck = false;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
    stuck = shared_->busy;
  }
  shared_->changed.notify_all();
  if (stuck)
    thread_.detach();
  else
    thread_.join();
}

bool Worker::run(Millis deadline, std::function<void()> job) {
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline.value);
  std::unique_lock lock(shared_->mutex);
  auto idle = [this] { return !shared_->busy; };
  if (!shared_->changed.wait_until(lock, end, idle)) return false;
  if (!thread_.joinable()) thread_ = std::thread([shared = shared_] { loop(shared); });
  shared_->job = std::move(job);
  shared_->busy = true;
  shared_->changed.notify_all();
  return shared_->changed.wait_until(lock, end, idle);
}

void Worker::loop(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->stop || shared->job; });
    if (!shared->job) return;
    auto job = std::exchange(shared->job, nullptr);
    lock.unlock();
    job();
    job = nullptr;  // what it owns goes before anyone is told that it has ended
    lock.lock();
    shared->busy = false;
    shared->changed.notify_all();
  }
}

}  // namespace tessera::accel::nvidia
