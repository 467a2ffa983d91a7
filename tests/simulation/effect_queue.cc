#include "effect_queue.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::simulation {

void EffectQueue::add(std::vector<server::Order> orders) {
  for (server::Order& order : orders) {
    std::deque<Pending>& queue = queues_[order.effect.task];
    queue.push_back({std::move(order), {}, {}});
  }
}

std::optional<Instant> EffectQueue::next_due() const {
  std::optional<Instant> out;
  for (const auto& [task, queue] : queues_)
    if (!out || queue.front().due < *out) out = queue.front().due;
  return out;
}

std::optional<std::string> EffectQueue::run_one(Rng& rng, Instant now) {
  std::vector<std::string> due;
  for (const auto& [task, queue] : queues_)
    if (queue.front().due <= now) due.push_back(task);
  if (due.empty()) return std::nullopt;
  const std::string task = due[rng.below(due.size())];
  std::deque<Pending>& queue = queues_.at(task);
  if (!in_order_) std::swap(queue.front(), queue[rng.below(queue.size())]);

  Pending& pending = queue.front();
  const core::Effect effect = pending.order.effect;
  server::Answer answer = server::carry_out(engine_, prepare_, pending.order);
  server::Verdict verdict = server::judge(effect, answer, pending.patience.waited);
  std::string words =
      cat(lower(enum_names(effect.what)[static_cast<size_t>(effect.what)]), " ", effect.task, "#",
          effect.attempt, ": ", answer.status.ok() ? "ok" : answer.status.error().text());
  if (!verdict.over) {
    pending.due = now + pending.patience.take_next();
    return words + ", to be tried again";
  }
  queue.pop_front();
  if (queue.empty()) queues_.erase(task);
  if (verdict.observation) observe_(*std::move(verdict.observation));
  observe_(core::EffectDone{effect.id});
  return words;
}

}  // namespace tessera::simulation
