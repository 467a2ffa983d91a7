#pragma once
// The same work asked for by several threads at once is done once, and its result given to all.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tessera::local {

// R is copied to every caller. News is what the work tells on its way: all callers get it, those
// who joined late from then on. The work has a thread of its own, so that each caller can leave
// when it gives up; once nobody waits any more, the work is told to end. The destructor waits for
// what is still at work.
template <class R, class News>
class SingleFlight {
 public:
  using Listener = std::function<void(const News&)>;
  using Work = std::function<R(const Listener& tell, const std::stop_token& unwanted)>;

  ~SingleFlight() { reap(/*all=*/true); }

  // nullopt: the caller gave up. `work` may go on after that, and must own what it needs.
  std::optional<R> run(const std::string& key, Listener listener, const std::stop_token& given_up,
                       Work work) {
    reap(/*all=*/false);
    std::unique_lock lock(mutex_);
    std::shared_ptr<Flight>& place = flights_[key];
    if (!place) {
      place = std::make_shared<Flight>();
      threads_.emplace_back(place, std::thread([this, key, work = std::move(work), flight = place] {
                              fly(key, *flight, work);
                            }));
    }
    std::shared_ptr<Flight> flight = place;
    int seat = flight->board(std::move(listener));
    landed_.wait(lock, given_up, [&] { return flight->result.has_value(); });
    bool last = flight->leave(seat);
    if (flight->result) return flight->result;
    if (last) {  // a newcomer begins anew rather than join what is ending
      forget(key, *flight);
      flight->unwanted.request_stop();
    }
    return std::nullopt;
  }

 private:
  struct Flight {
    // Who waits, by seat.
    int board(Listener listener) {
      std::lock_guard lock(mutex);
      listeners[++seats] = std::move(listener);
      return seats;
    }
    bool leave(int seat) {
      std::lock_guard lock(mutex);
      listeners.erase(seat);
      return listeners.empty();
    }
    std::mutex mutex;
    std::map<int, Listener> listeners;  // under its mutex
    int seats = 0;                      // under its mutex
    std::optional<R> result;            // under the owner's
    std::stop_source unwanted;
  };

  void fly(const std::string& key, Flight& flight, const Work& work) {
    R result = work(
        [&flight](const News& news) {
          std::lock_guard lock(flight.mutex);
          for (const auto& [seat, listener] : flight.listeners)
            if (listener) listener(news);
        },
        flight.unwanted.get_token());
    std::lock_guard lock(mutex_);
    flight.result = std::move(result);
    forget(key, flight);
    landed_.notify_all();
  }

  // Under the mutex.
  void forget(const std::string& key, const Flight& flight) {
    auto found = flights_.find(key);
    if (found != flights_.end() && found->second.get() == &flight) flights_.erase(found);
  }

  void reap(bool all) {
    std::vector<std::thread> done;
    {
      std::lock_guard lock(mutex_);
      for (auto at = threads_.begin(); at != threads_.end();) {
        if (!all && !at->first->result) {
          ++at;
          continue;
        }
        done.push_back(std::move(at->second));
        at = threads_.erase(at);
      }
    }
    for (std::thread& thread : done) thread.join();
  }

  std::mutex mutex_;
  std::condition_variable_any landed_;
  std::map<std::string, std::shared_ptr<Flight>> flights_;  // that one can still join
  std::vector<std::pair<std::shared_ptr<Flight>, std::thread>> threads_;
};

}  // namespace tessera::local
