#pragma once
// The brain: one thread that owns the control loop. Everyone else sends it commands and reads the
// view.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "server/control.h"

namespace tessera::server {

// Commands of users that may wait at once. A tick takes milliseconds, so a full inbox means that
// the disk stands still; more would only make the wait longer. Observations are never refused:
// there are never more than containers.
inline constexpr size_t kInboxLimit = 4096;
// Questions to the store and the planner that may wait at once; each takes milliseconds of the
// brain's.
inline constexpr size_t kQuestionLimit = 16;
// Commands of one tick: large enough to share one fsync among many, small enough for even latency.
inline constexpr size_t kTickLimit = 512;
// A plan costs more the longer the queue is. After one the next waits for this many times as long,
// so that a long queue slows down planning and not the answers to requests.
inline constexpr int64_t kPlanRest = 9;
// How long to wait before a failed commit (disk full) is tried again.
inline constexpr Millis kCommitRetry{1000};

class Brain {
 public:
  using Reply = std::function<void(Result<std::string> key)>;
  using Release = std::function<void(std::vector<Order> orders)>;

  // `release` gets the orders of each committed tick, on the brain's thread; it must not block.
  Brain(store::Store& store, SecretBox secrets, View& view, sched::Policy policy, Release release);
  ~Brain();

  // Loads the store and publishes it. Then reconcile with what the engine runs and start().
  Status load();
  // The first command after load(): what the engine has. Pending effects are released after it.
  void start(core::Reconcile engine_has);
  void stop();

  // A user's command: `reply` is called on the brain's thread once it is durable or refused.
  void submit(Inbound inbound, Reply reply);
  // An observation or a finished effect: no answer, no limit.
  void observe(core::Command command);
  // An attempt that needs no command, for the audit log: what was turned away, and what engines do
  // at once. Dropped when the disk stands still and too many wait.
  void record(Attempt attempt);
  // Answers on the brain's thread, which owns the store.
  using AuditReply = std::function<void(Result<std::vector<store::AuditRow>> rows)>;
  void read_audit(store::AuditQuery query, AuditReply reply);
  using UsageReply = std::function<void(Result<core::UsageSums> sums)>;
  void read_usage(store::UsageQuery query, Instant now, UsageReply reply);

  // Why a job waits, as the planner sees it now.
  using ExplainReply = std::function<void(Result<sched::Explanation> told)>;
  void explain(std::string job, ExplainReply reply);
  // Why new work is not taken now; empty when it is.
  std::string trouble() const;

 private:
  struct Item {
    Inbound inbound;
    Reply reply;
  };
  // Called once, on the brain's thread; with an error on the asker's when too many wait.
  using Question = std::function<void(Result<Control*> control)>;
  void ask(Question question);
  void answer_questions();
  void run();
  std::vector<Item> next_items();
  void tick(std::vector<Item> items);
  void plan();
  void finish(TickResult result, std::vector<Item>& items);

  Control control_;
  View& view_;
  Release release_;
  std::deque<Question> asked_;  // of this tick
  std::thread thread_;
  int64_t plan_after_ = 0;  // on the monotonic clock, in nanoseconds

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::deque<Item> inbox_;
  size_t user_items_ = 0;  // in the inbox, with a reply
  std::deque<Question> questions_;
  bool stopping_ = false;
  std::string trouble_;
  std::optional<Instant> deadline_;
};

}  // namespace tessera::server
