#pragma once
// The same work asked for by several threads at once is done once, and its result given to all.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tessera::local {

// R is copied to every caller. News is what the work tells on its way: all callers get it, those
// who joined late from then on.
template <class R, class News>
class SingleFlight {
 public:
  using Listener = std::function<void(const News&)>;

  R run(const std::string& key, Listener listener, const std::function<R(Listener)>& work) {
    std::unique_lock lock(mutex_);
    auto [at, first] = flights_.try_emplace(key, nullptr);
    if (first) at->second = std::make_shared<Flight>();
    std::shared_ptr<Flight> flight = at->second;
    {
      std::lock_guard listening(flight->mutex);
      if (listener) flight->listeners.push_back(std::move(listener));
    }
    if (!first) {
      landed_.wait(lock, [&] { return flight->result.has_value(); });
      return *flight->result;
    }
    lock.unlock();
    R result = work([flight](const News& news) {
      std::lock_guard listening(flight->mutex);
      for (const Listener& each : flight->listeners) each(news);
    });
    lock.lock();
    flight->result = result;
    flights_.erase(key);
    landed_.notify_all();
    return result;
  }

 private:
  struct Flight {
    std::mutex mutex;
    std::vector<Listener> listeners;  // under its mutex
    std::optional<R> result;          // under the owner's
  };
  std::mutex mutex_;
  std::condition_variable landed_;
  std::map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace tessera::local
