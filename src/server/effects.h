#pragma once
// Carries out effects on the engine: at least once, in order for each task, never two at once for
// the same one. What an engine refuses for good becomes an observation; what it cannot do now is
// tried again.

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "accel/provider.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "server/control.h"
#include "server/workers.h"

namespace tessera::server {

// First and longest wait before an effect is tried again, and how long a start may be tried at all:
// a containerd that is restarted is back within seconds.
inline constexpr Millis kFirstRetry{100}, kLongestRetry{5'000}, kStartPatience{60'000};

class EffectRunner {
 public:
  using Observe = std::function<void(core::Command command)>;
  using Prepare = std::function<Status(const api::Accelerator& accelerator)>;

  // `observe` is thread-safe; `prepare` gets a device ready before a container uses it.
  EffectRunner(engine::Engine& engine, Workers& workers, net::Loop& loop, Prepare prepare,
               Observe observe)
      : engine_(engine),
        workers_(workers),
        loop_(loop),
        prepare_(std::move(prepare)),
        observe_(std::move(observe)) {}

  void run(std::vector<Order> orders);

 private:
  struct Pending {
    Order order;
    Millis waited;  // in retries so far
    Millis next_wait = kFirstRetry;
  };
  void start_next(const std::string& task);
  void attempt(const std::string& task);
  Status carry_out(const Order& order);
  Status ensure(const Order& order);
  // True when the effect is over, done or given up.
  bool settle(Pending& pending, const Status& status);

  engine::Engine& engine_;
  Workers& workers_;
  net::Loop& loop_;
  Prepare prepare_;
  Observe observe_;
  std::mutex mutex_;
  std::map<std::string, std::deque<Pending>>
      queues_;  // by task; the front one is being carried out
};

}  // namespace tessera::server
