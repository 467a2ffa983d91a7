#include "server/control.h"

#include "base/log.h"
#include "base/text.h"
#include "core/snapshot.h"
#include "core/step.h"
#include "server/entries.h"
#include "server/launch.h"
#include "server/packed.h"

namespace tessera::server {

namespace {

using core::kAcceleratorKind, core::kJobKind, core::kNodeKind, core::kProjectKind,
    core::kSecretKind, core::kTaskKind, core::kTokenKind, core::kUserKind;

// Values of secrets never leave the server; their keys do.
api::Secret blanked(api::Secret secret) {
  for (auto& [key, value] : secret.data) value.clear();
  return secret;
}

// Nor does what a token is recognised by.
api::Token blanked(api::Token token) {
  token.status.hash.clear();
  return token;
}

bool changes_accounts(const core::Changes& changes) {
  for (std::string_view kind : {kUserKind, kTokenKind, kProjectKind}) {
    if (changes.touched.contains(kind)) return true;
    for (const auto& [erased, key] : changes.erased)
      if (erased == kind) return true;
  }
  return false;
}

}  // namespace

std::vector<Order> Control::pending_orders() const {
  std::vector<Order> orders;
  for (const auto& [id, effect] : state_.outbox) orders.push_back(make_order(effect));
  return orders;
}

Result<std::string> Control::replay_known(const Inbound& inbound, bool& known) {
  const Idempotency& wanted = inbound.idempotency;
  auto answer = [&](const store::IdempotencyRow& row) -> Result<std::string> {
    known = true;
    if (row.fingerprint == wanted.fingerprint) return row.object_key;
    return error(Code::kConflict, "this Idempotency-Key was used before with another request",
                 "Idempotency-Key", "use a new key for a new request");
  };
  for (const store::IdempotencyRow& row : new_keys_)
    if (row.key == wanted.key) return answer(row);
  TRY(std::optional<store::IdempotencyRow> row, store_.find_idempotency(wanted.key));
  if (row) return answer(*row);
  return std::string();
}

namespace {

// Key of the object that a command is about, for its reply.
std::string key_of(const core::Command& command) {
  return std::visit(
      [](const auto& one) -> std::string {
        if constexpr (requires { one.job.metadata; })
          return core::object_key(one.job.metadata.project, one.job.metadata.name);
        else if constexpr (requires { one.secret.metadata; })
          return core::object_key(one.secret.metadata.project, one.secret.metadata.name);
        else if constexpr (requires { one.node.metadata; })
          return one.node.metadata.name;
        else if constexpr (requires { one.user.metadata; })
          return one.user.metadata.name;
        else if constexpr (requires { one.token.metadata; })
          return one.token.metadata.name;
        else if constexpr (requires { one.project.metadata; })
          return one.project.metadata.name;
        else if constexpr (requires {
                             one.project;
                             one.name;
                           })
          return core::object_key(one.project, one.name);
        else if constexpr (requires { one.name; })
          return one.name;
        else
          return {};
      },
      command);
}

}  // namespace

Result<std::string> Control::run(const Inbound& inbound, Instant now) {
  if (!inbound.idempotency.key.empty()) {
    bool known = false;
    Result<std::string> earlier = replay_known(inbound, known);
    if (known || !earlier.ok()) return earlier;
  }
  TRY_STATUS(core::step(state_, inbound.command, now));
  std::string key = key_of(inbound.command);
  if (!inbound.idempotency.key.empty())
    new_keys_.push_back({inbound.idempotency.key, inbound.idempotency.fingerprint,
                         std::string(kJobKind), key, now});
  return key;
}

Result<TickResult> Control::tick(std::span<const Inbound> commands, Instant now) {
  apply(commands, now);
  if (plan_needed()) plan(now);
  return commit();
}

void Control::apply(std::span<const Inbound> commands, Instant now) {
  if (auto deadline = core::next_deadline(state_); deadline && *deadline <= now) {
    Status status = core::step(state_, core::Tick{}, now);
    CHECK(status.ok());
  }
  for (const Inbound& inbound : commands) {
    replies_.push_back(run(inbound, now));
    if (inbound.attempt) note_attempt(inbound, replies_.back(), now);
  }
}

void Control::note_attempt(const Inbound& inbound, const Result<std::string>& result, Instant now) {
  const Attempt& attempt = *inbound.attempt;
  const Error* refusal = attempt.refusal ? &*attempt.refusal : nullptr;
  if (!result.ok()) refusal = &result.error();
  std::string key = key_of(inbound.command);
  new_audit_.push_back({.seq = ++last_audit_,
                        .routine = attempt.routine,
                        .at = now,
                        .user = attempt.user,
                        .from = attempt.from,
                        .action = attempt.action,
                        .object = key.empty() ? attempt.object : key,
                        .result = std::string(refusal ? info(refusal->code).name : "ok"),
                        .message = refusal ? refusal->text().substr(0, kAuditTextLimit) : ""});
}

void Control::plan(Instant now) {
  sched::LinePlan decided = state_.planner.plan(policy_, now);
  core::apply_plan(state_, decided, now);
  state_.plan_needed = false;  // what the plan itself changed needs no other one
  note_waits(decided);
}

// Looks only at what is new: the plan names lines of jobs, and most jobs of a long queue wait for
// the same as they did before.
void Control::note_waits(const sched::LinePlan& plan) {
  waits_changed_.merge(state_.planner.queue.take_moved());
  std::map<std::string, Text> before = std::exchange(job_waits_, {});
  for (const sched::Wait& wait : plan.waits) {
    auto known = before.extract(wait.request->job);
    if (known.empty() || *known.mapped() != *wait.message) waits_changed_.insert(wait.request->job);
    job_waits_.emplace(wait.request->job, wait.message);
  }
  for (const auto& [job, text] : before) waits_changed_.insert(job);

  auto lines_before = std::exchange(line_waits_, {});
  const sched::Queue::Lines& lines = state_.planner.queue.lines();
  for (const sched::LineWait& line : plan.lines) {
    auto known = lines_before.find(line.shape);
    bool same = known != lines_before.end() && *known->second == *line.message;
    line_waits_.emplace(line.shape, line.message);
    auto jobs = lines.find(line.shape);
    if (same || jobs == lines.end()) continue;
    for (const auto& [key, request] : jobs->second) waits_changed_.insert(request->job);
  }
}

std::optional<std::string> Control::why_waits(const std::string& job) const {
  sched::RequestPtr request = state_.planner.queue.find(job);
  if (!request) return std::nullopt;
  if (!api::waits(state_.jobs.at(job))) return std::nullopt;  // a part still stops
  if (std::string own = sched::own_reason(*request); !own.empty()) return own;
  if (auto wait = job_waits_.find(job); wait != job_waits_.end()) return *wait->second;
  auto line = line_waits_.find(sched::shape_of(*request));
  if (line == line_waits_.end()) return std::nullopt;
  return *line->second;
}

store::Batch Control::make_batch(const std::vector<Entry>& entries) const {
  store::Batch batch;
  const core::Changes& changes = state_.changes;
  for (const Entry& entry : entries) {
    std::string body = entry.kind == kSecretKind ? secrets_.seal(entry.json, entry.key)
                       : entry.over              ? pack(entry.json)
                                                 : entry.json;
    batch.put.push_back({entry.kind, entry.key, entry.version, std::move(body)});
  }
  for (const auto& [kind, key] : changes.erased)
    if (!exists(state_, kind, key)) batch.erase.emplace_back(std::string(kind), key);
  for (const core::Effect& effect : changes.effects)
    batch.outbox_put.push_back({effect.id, wire::to_json(schema::encode(effect))});
  batch.outbox_done = changes.effects_done;
  for (const api::Event& event : changes.events) {
    auto number =
        to_int(std::string_view(event.metadata.name).substr(std::string_view("event-").size()));
    batch.events.push_back({number.value_or(0), event.metadata.project,
                            wire::to_json(full_tree(event)), event.about.uid});
  }
  batch.idempotency = new_keys_;
  batch.audit = new_audit_;
  batch.usage = to_rows(changes.usage);
  batch.counters = {{std::string(kVersionCounter), state_.version},
                    {std::string(kSubmissionCounter), state_.submissions},
                    {std::string(kEffectCounter), state_.last_effect},
                    {std::string(kEventCounter), state_.last_event},
                    {std::string(kAuditCounter), last_audit_}};
  return batch;
}

Result<TickResult> Control::commit() {
  std::vector<Entry> entries;
  if (!state_.changes.empty() || !new_keys_.empty() || !new_audit_.empty() ||
      !waits_changed_.empty()) {
    // The number of the publication that follows. It is durable before anyone sees it: a reader who
    // watches on from it after a restart must not miss what comes then.
    ++state_.version;
    entries = touched_entries(state_, state_.changes);
    TRY_STATUS(store_.commit(make_batch(entries)));
  }
  new_keys_.clear();
  new_audit_.clear();
  core::Changes changes;
  std::swap(changes, state_.changes);

  TickResult result;
  result.publication = make_publication(changes, std::move(entries));
  for (const core::Effect& effect : changes.effects) result.orders.push_back(make_order(effect));
  result.replies = std::move(replies_);
  replies_.clear();
  return result;
}

Entry Control::waiting_entry(api::Job job, const std::string& why) const {
  job.status.waiting = api::Waiting{why};
  return entry_of(kJobKind, core::object_key(job.metadata.project, job.metadata.name), job);
}

View::Publication Control::make_publication(const core::Changes& changes,
                                            std::vector<Entry> entries) {
  View::Publication out;
  out.entries = std::move(entries);
  for (Entry& entry : out.entries) {
    if (entry.kind == kSecretKind)
      entry = entry_of(entry.kind, entry.key, blanked(state_.secrets.at(entry.key)));
    if (entry.kind == kTokenKind)
      entry = entry_of(entry.kind, entry.key, blanked(state_.tokens.at(entry.key)));
    if (entry.kind != kJobKind) continue;
    waits_changed_.erase(entry.key);
    if (std::optional<std::string> why = why_waits(entry.key))
      entry = waiting_entry(state_.jobs.at(entry.key), *why);
  }
  for (const std::string& key : waits_changed_) {
    if (std::optional<std::string> why = why_waits(key))
      out.entries.push_back(waiting_entry(state_.jobs.at(key), *why));
  }
  waits_changed_.clear();
  for (const api::Event& event : changes.events)
    out.entries.push_back(entry_of("Event", event.metadata.name, event));
  for (const auto& [kind, key] : changes.erased) out.gone.emplace_back(std::string(kind), key);
  out.sequence = state_.version;
  if (changes_accounts(changes)) out.accounts = std::make_shared<const Accounts>(state_);
  return out;
}

Order Control::make_order(const core::Effect& effect) const {
  Order order{.effect = effect, .launch = {}};
  if (effect.what != core::Effect::What::kEnsure) return order;
  auto task = state_.tasks.find(effect.task);
  if (task == state_.tasks.end() || task->second.attempt != effect.attempt ||
      !api::holds_devices(task->second.phase)) {
    order.valid = error(Code::kConflict, "the attempt is over");
    return order;
  }
  Result<engine::Launch> launch = make_launch(state_, task->second);
  if (launch.ok())
    order.launch = std::move(*launch);
  else
    order.valid = std::move(launch).error();
  return order;
}

}  // namespace tessera::server
