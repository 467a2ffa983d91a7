#pragma once
// A few threads for work that blocks, now or later.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/units.h"

namespace tessera::local {

// Thread-safe. The destructor drops what has not begun and waits for what has.
class Workers {
 public:
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;

  void run(std::function<void()> job, Millis after = {});

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<int64_t, std::function<void()>> jobs_;  // by due time (monotonic_ns)
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera::local
