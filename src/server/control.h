#pragma once
// The control loop's body, without threads: commands in; step, plan, one transaction; what to
// publish and the effects to release out. The brain runs it on its thread, the simulation under its
// own clock.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/state.h"
#include "engine/engine.h"
#include "server/ledger.h"
#include "server/secret_box.h"
#include "server/view.h"
#include "store/store.h"

namespace tessera::server {

// Makes a repeated request give the first one's answer.
struct Idempotency {
  std::string key;          // caller's identity and its Idempotency-Key; empty: none
  std::string fingerprint;  // of the request's body
};

// Text that the audit log keeps of one attempt; longer is cut.
inline constexpr size_t kAuditTextLimit = 512;

// Who tries to change what, for the audit log.
struct Attempt {
  std::string user;
  std::string from;
  std::string action;                 // id of the route
  std::string object;                 // when the command does not say it
  bool routine = false;               // see store::AuditRow
  std::optional<Error> refusal = {};  // when it came to nothing before it got here
};

struct Inbound {
  core::Command command;
  Idempotency idempotency = {};
  std::optional<Attempt> attempt = {};  // of users; what engines observe is not audited
};

// What an effect needs besides itself; made while the state is at hand.
struct Order {
  core::Effect effect;
  engine::Launch launch;  // of an ensure
  Status valid = Ok;      // why the launch cannot be made (a secret is missing)
};

struct TickResult {
  std::vector<Result<std::string>> replies;  // per command: key of the object that it is about
  View::Publication publication;
  std::vector<Order> orders;
};

class Control {
 public:
  Control(store::Store& store, SecretBox secrets, sched::Policy policy)
      : store_(store), secrets_(std::move(secrets)), policy_(policy) {}

  // Loads the store and makes the default project on the first start. The result publishes all
  // there is and releases nothing: first the engine has to be asked what it runs (Reconcile).
  Result<TickResult> load(Instant now);
  // Orders for every effect in the outbox, oldest first: after a restart.
  std::vector<Order> pending_orders() const;

  // One tick: apply, plan when something changed, commit.
  Result<TickResult> tick(std::span<const Inbound> commands, Instant now);

  // The parts of a tick, for who gives planning its own pace.
  void apply(std::span<const Inbound> commands, Instant now);
  bool plan_needed() const { return state_.plan_needed; }
  void plan(Instant now);
  // An error means that the store did not take it: then nothing was acknowledged, the state is as
  // before in the store, and commit() has to be called again until it succeeds.
  Result<TickResult> commit();

  std::optional<Instant> next_deadline() const { return core::next_deadline(state_); }
  const core::State& state() const { return state_; }
  // Why a job waits and what would help; empty when it would start now.
  sched::Explanation explain(const std::string& job, Instant now) {
    return state_.planner.explain(policy_, now, job);
  }
  // Who used what until now.
  Result<core::UsageSums> usage(const store::UsageQuery& query, Instant now) {
    return read_usage(store_, state_.meters, query, now);
  }
  // What was tried, latest first.
  Result<std::vector<store::AuditRow>> audit(const store::AuditQuery& query) {
    return store_.audit(query);
  }

 private:
  Status load_secret(const store::Document& document);
  Status load_objects(store::Loaded& loaded);
  // Jobs and tasks as they were stored.
  void publish_stored(std::vector<store::Document> documents, std::vector<Entry>& out) const;
  void note_attempt(const Inbound& inbound, const Result<std::string>& result, Instant now);
  Result<std::string> run(const Inbound& inbound, Instant now);
  Result<std::string> replay_known(const Inbound& inbound, bool& known);
  void note_waits(const sched::LinePlan& plan);
  // As the last plan has it; nullopt when the job does not wait or was not planned yet.
  std::optional<std::string> why_waits(const std::string& job) const;
  // `entries`: what changed, as the store has it; readers get it without secrets and with the
  // reason of who waits.
  store::Batch make_batch(const std::vector<Entry>& entries) const;
  View::Publication make_publication(const core::Changes& changes, std::vector<Entry> entries);
  Entry waiting_entry(api::Job job, const std::string& why) const;
  Order make_order(const core::Effect& effect) const;

  store::Store& store_;
  SecretBox secrets_;
  bool secrets_in_clear_ = false;  // what was loaded is older than sealing
  sched::Policy policy_;
  core::State state_;
  // Why jobs wait, as published: those for which the last plan has a reason of their own, and lines
  // of jobs that wait for the same.
  using Text = std::shared_ptr<const std::string>;
  std::map<std::string, Text> job_waits_;
  std::map<sched::Shape, Text, sched::ShapeLess> line_waits_;
  std::set<std::string> waits_changed_;
  std::vector<store::IdempotencyRow> new_keys_;  // of this tick
  std::vector<store::AuditRow> new_audit_;       // of this tick
  int64_t last_audit_ = 0;
  std::vector<Result<std::string>> replies_;  // of this tick
};

}  // namespace tessera::server
