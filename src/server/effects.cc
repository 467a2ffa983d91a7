#include "server/effects.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"

namespace tessera::server {

void EffectRunner::run(std::vector<Order> orders) {
  std::vector<std::string> begun;
  {
    std::lock_guard lock(mutex_);
    for (Order& order : orders) {
      std::string task = order.effect.task;
      std::deque<Pending>& queue = queues_[task];
      queue.push_back({std::move(order), {}});
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
  Status status = carry_out(pending->order);
  if (!settle(*pending, status)) {
    Millis wait = pending->next_wait;
    pending->waited += wait;
    pending->next_wait = std::min(wait * 2, kLongestRetry);
    loop_.after(wait, [this, task] { start_next(task); });
    return;
  }
  observe_(core::EffectDone{pending->order.effect.id});
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

Status EffectRunner::carry_out(const Order& order) {
  const core::Effect& effect = order.effect;
  engine::TaskRef ref{effect.task, effect.attempt};
  switch (effect.what) {
    case core::Effect::What::kEnsure:
      return ensure(order);
    case core::Effect::What::kStop:
      return engine_.stop(ref, effect.signal, effect.grace);
    case core::Effect::What::kSignal:
      return engine_.signal(ref, effect.signal);
    case core::Effect::What::kRemove:
      return engine_.remove(ref);
    case core::Effect::What::kRemoveLogs:
      return engine_.remove_logs(effect.task);
  }
  return Ok;
}

Status EffectRunner::ensure(const Order& order) {
  TRY_STATUS(order.valid);
  for (const api::Accelerator& accelerator : order.launch.accelerators) {
    Status ready = prepare_(accelerator);
    if (ready.ok()) continue;
    // Fail before the start, with the reason, rather than run without the device (A18).
    observe_(core::TaskStartFailed{order.effect.task, order.effect.attempt,
                                   api::Reason::kAcceleratorFault, ready.error().text()});
    return Ok;
  }
  return engine_.ensure(order.launch);
}

bool EffectRunner::settle(Pending& pending, const Status& status) {
  const core::Effect& effect = pending.order.effect;
  if (status.ok()) return true;
  Code code = status.error().code;
  bool is_ensure = effect.what == core::Effect::What::kEnsure;
  if (code == Code::kConflict && is_ensure && effect.attempt != 0) {
    log::debug(cat("attempt ", effect.attempt, " of ", effect.task, " is over before it began"));
    return true;
  }
  bool may_pass = code == Code::kUnavailable || code == Code::kTimeout;
  if (is_ensure && (!may_pass || pending.waited >= kStartPatience)) {
    observe_(core::TaskStartFailed{effect.task, effect.attempt, api::Reason::kStartFailed,
                                   status.error().text()});
    return true;
  }
  // A signal is of its moment: sent late it would surprise.
  if (effect.what == core::Effect::What::kSignal || code == Code::kNotFound ||
      code == Code::kInvalid) {
    log::warn(cat(enum_names(effect.what)[static_cast<size_t>(effect.what)], " of ", effect.task,
                  ": ", status.error().text()));
    return true;
  }
  if (pending.next_wait == kLongestRetry)
    log::warn(cat("still trying to ",
                  lower(enum_names(effect.what)[static_cast<size_t>(effect.what)]), " ",
                  effect.task, ": ", status.error().text()));
  return false;
}

}  // namespace tessera::server
