#pragma once
// Carries out effects on the engine: at least once, in order for each task, never two at once for
// the same one. What an engine refuses for good becomes an observation; what it cannot do now is
// tried again.

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
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

// Gets a device ready before a container uses it.
using Prepare = std::function<Status(const api::Accelerator& accelerator)>;

// What came of carrying out an effect once.
struct Answer {
  Status status = Ok;
  api::Reason reason = api::Reason::kStartFailed;  // of a start that failed
};
Answer carry_out(engine::Engine& engine, const Prepare& prepare, const Order& order,
                 const std::stop_token& given_up = {});

// What follows from an answer.
struct Verdict {
  bool over = true;                          // done or given up; else it is to be tried again
  std::optional<core::Command> observation;  // what the core has to hear of it
};
// `waited` is the time spent on waits between tries so far.
Verdict judge(const core::Effect& effect, const Answer& answer, Millis waited);

// The waits between the tries of one effect, each twice as long as the last.
struct Patience {
  Millis waited;  // so far
  Millis next = kFirstRetry;
  Millis take_next();
};

class EffectRunner {
 public:
  using Observe = std::function<void(core::Command command)>;

  // `observe` and `prepare` are thread-safe.
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
    Patience patience;
    std::stop_source given_up;  // of an ensure: requested once a stop or remove waits behind it
  };
  void start_next(const std::string& task);
  void attempt(const std::string& task);

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
