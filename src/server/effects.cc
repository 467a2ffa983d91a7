#include "server/effects.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"

namespace tessera::server {

namespace {

Answer ensure(engine::Engine& engine, const Prepare& prepare, const Order& order,
              const std::stop_token& given_up) {
  if (!order.valid.ok()) return {.status = order.valid};
  for (const api::Accelerator& accelerator : order.launch.accelerators) {
    Status ready = prepare(accelerator);
    // Fail before the start, with the reason, rather than run without the device (A18).
    if (!ready.ok()) return {.status = std::move(ready), .reason = api::Reason::kAcceleratorFault};
  }
  return {.status = engine.ensure(order.launch, given_up)};
}

std::string_view name_of(core::Effect::What what) {
  return enum_names(what)[static_cast<size_t>(what)];
}

// What the admin should know of an effect that the engine did not carry out and no job tells of.
void note(const core::Effect& effect, const Status& status, const Verdict& verdict,
          const Patience& patience) {
  if (status.ok() || verdict.observation) return;
  const std::string text = status.error().text();
  if (!verdict.over && patience.next == kLongestRetry)
    log::warn(cat("still trying to ", lower(name_of(effect.what)), " ", effect.task, ": ", text));
  if (!verdict.over) return;
  std::string line = cat(name_of(effect.what), " of attempt ", effect.attempt, " of ", effect.task,
                         " is given up: ", text);
  if (status.error().code == Code::kConflict)
    log::debug(line);  // the attempt is over
  else
    log::warn(line);
}

}  // namespace

Answer carry_out(engine::Engine& engine, const Prepare& prepare, const Order& order,
                 const std::stop_token& given_up) {
  const core::Effect& effect = order.effect;
  engine::TaskRef ref{effect.task, effect.attempt};
  switch (effect.what) {
    case core::Effect::What::kEnsure:
      return ensure(engine, prepare, order, given_up);
    case core::Effect::What::kStop:
      return {.status = engine.stop(ref, effect.signal, effect.grace)};
    case core::Effect::What::kSignal:
      return {.status = engine.signal(
                  ref, effect.signal,
                  effect.firstProcessOnly ? engine::Whom::kFirst : engine::Whom::kAll)};
    case core::Effect::What::kRemove:
      return {.status = engine.remove(ref)};
    case core::Effect::What::kRemoveLogs:
      return {.status = engine.remove_logs(effect.task)};
  }
  CHECK(false);
}

Verdict judge(const core::Effect& effect, const Answer& answer, Millis waited) {
  if (answer.status.ok()) return {};
  Code code = answer.status.error().code;
  // The attempt is over: a newer one has taken its place, or it ended before it began. So an effect
  // that is carried out again after a crash must not stand in the way of those behind it.
  if (code == Code::kConflict) return {};
  bool is_ensure = effect.what == core::Effect::What::kEnsure;
  bool may_pass = (code == Code::kUnavailable || code == Code::kTimeout) &&
                  answer.reason != api::Reason::kAcceleratorFault;
  if (is_ensure) {
    if (may_pass && waited < kStartPatience) return {.over = false, .observation = {}};
    return {.over = true,
            .observation = core::TaskStartFailed{effect.task, effect.attempt, answer.reason,
                                                 answer.status.error().text(), true}};
  }
  // A signal is of its moment: sent late it would surprise.
  bool over = effect.what == core::Effect::What::kSignal || code == Code::kNotFound ||
              code == Code::kInvalid;
  return {.over = over, .observation = {}};
}

Millis Patience::take_next() {
  Millis wait = next;
  waited += wait;
  next = std::min(wait * 2, kLongestRetry);
  return wait;
}

void EffectRunner::run(std::vector<Order> orders) {
  std::vector<std::string> begun;
  {
    std::lock_guard lock(mutex_);
    for (Order& order : orders) {
      std::string task = order.effect.task;
      std::deque<Pending>& queue = queues_[task];
      using What = core::Effect::What;
      // A pull may take an hour: what is to end does not wait for it.
      if (order.effect.what == What::kStop || order.effect.what == What::kRemove)
        for (Pending& earlier : queue)
          if (earlier.order.effect.what == What::kEnsure) earlier.given_up.request_stop();
      queue.push_back({std::move(order), {}, {}});
      if (queue.size() == 1) begun.push_back(std::move(task));
    }
  }
  for (const std::string& task : begun) start_next(task);
}

void EffectRunner::start_next(const std::string& task) {
  workers_.run([this, task] { attempt(task); }, true);
}

void EffectRunner::attempt(const std::string& task) {
  Pending* pending = nullptr;
  {
    std::lock_guard lock(mutex_);
    pending = &queues_.at(task)
                   .front();  // stays the front one until we pop it: the deque only grows behind it
  }
  const core::Effect& effect = pending->order.effect;
  Answer answer = carry_out(engine_, prepare_, pending->order, pending->given_up.get_token());
  Verdict verdict = judge(effect, answer, pending->patience.waited);
  note(effect, answer.status, verdict, pending->patience);
  if (!verdict.over) {
    loop_.after(pending->patience.take_next(), [this, task] { start_next(task); });
    return;
  }
  if (verdict.observation) observe_(*std::move(verdict.observation));
  observe_(core::EffectDone{effect.id});
  bool more = false;
  {
    std::lock_guard lock(mutex_);
    auto queue = queues_.find(task);
    queue->second.pop_front();
    more = !queue->second.empty();
    if (!more) queues_.erase(queue);
  }
  if (more) start_next(task);
}

}  // namespace tessera::server
