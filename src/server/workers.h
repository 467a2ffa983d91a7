#pragma once
// Threads for work that blocks: engine calls, image pulls, following a log. Grows on demand, up to
// a limit, and keeps idle threads.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera::server {

class Workers {
 public:
  explicit Workers(size_t limit) : limit_(limit) {}
  ~Workers() { stop(); }

  // False when `limit` tasks run already and `queue_when_busy` is not set, or after stop().
  bool run(std::function<void()> task, bool queue_when_busy);
  // Waits for what runs; what is queued is dropped.
  void stop();

 private:
  void loop();

  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace tessera::server
