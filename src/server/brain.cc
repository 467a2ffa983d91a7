#include "server/brain.h"

#include <chrono>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera::server {

Brain::Brain(store::Store& store, SecretBox secrets, View& view, sched::Policy policy,
             Release release)
    : control_(store, std::move(secrets), policy), view_(view), release_(std::move(release)) {}

Brain::~Brain() {
  stop();
}

Status Brain::load() {
  TRY(TickResult result, control_.load(wall_now()));
  view_.publish(std::move(result.publication));
  return Ok;
}

void Brain::start(core::Reconcile engine_has) {
  std::vector<Order> pending = control_.pending_orders();
  observe(std::move(engine_has));
  release_(std::move(pending));
  thread_ = std::thread([this] { run(); });
}

void Brain::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Brain::submit(Inbound inbound, Reply reply) {
  Error refusal;
  {
    std::lock_guard lock(mutex_);
    if (!trouble_.empty()) {
      refusal = error(Code::kUnavailable, trouble_, {}, "try again later");
    } else if (stopping_) {
      refusal =
          error(Code::kUnavailable, "the server is stopping", {}, "try again when it is back");
    } else if (user_items_ >= kInboxLimit) {
      refusal = error(Code::kExhausted, cat("the server has ", kInboxLimit, " requests waiting"),
                      {}, "try again in a moment");
    } else {
      ++user_items_;
      inbox_.push_back({std::move(inbound), std::move(reply)});
      wake_.notify_one();
      return;
    }
  }
  reply(std::move(refusal));
}

void Brain::observe(core::Command command) {
  std::lock_guard lock(mutex_);
  inbox_.push_back({{std::move(command)}, nullptr});
  wake_.notify_one();
}

void Brain::record(Attempt attempt) {
  std::lock_guard lock(mutex_);
  if (inbox_.size() >= 2 * kInboxLimit) return;
  inbox_.push_back({{core::Tick{}, {}, std::move(attempt)}, nullptr});
  wake_.notify_one();
}

void Brain::read_audit(store::AuditQuery query, AuditReply reply) {
  ask([query = std::move(query), reply = std::move(reply)](Result<Control*> control) {
    if (control.ok())
      reply((*control)->audit(query));
    else
      reply(std::move(control).error());
  });
}

void Brain::read_usage(store::UsageQuery query, Instant now, UsageReply reply) {
  ask([query = std::move(query), now, reply = std::move(reply)](Result<Control*> control) {
    if (control.ok())
      reply((*control)->usage(query, now));
    else
      reply(std::move(control).error());
  });
}

void Brain::ask(Question question) {
  {
    std::lock_guard lock(mutex_);
    if (!stopping_ && questions_.size() < kQuestionLimit) {
      questions_.push_back(std::move(question));
      wake_.notify_one();
      return;
    }
  }
  question(error(Code::kUnavailable, cat(kQuestionLimit, " questions wait already"), {},
                 "try again in a moment"));
}

void Brain::answer_questions() {
  for (Question& question : asked_) question(&control_);
  asked_.clear();
}

void Brain::explain(std::string job, ExplainReply reply) {
  ask([job = std::move(job), reply = std::move(reply)](Result<Control*> control) {
    if (control.ok())
      reply((*control)->explain(job, wall_now()));
    else
      reply(std::move(control).error());
  });
}

std::string Brain::trouble() const {
  std::lock_guard lock(mutex_);
  return trouble_;
}

std::vector<Brain::Item> Brain::next_items() {
  std::unique_lock lock(mutex_);
  auto ready = [&] { return stopping_ || !inbox_.empty() || !questions_.empty(); };
  std::optional<std::chrono::nanoseconds> left;
  if (deadline_) left = std::chrono::milliseconds((*deadline_ - wall_now()).value);
  if (control_.plan_needed()) {
    std::chrono::nanoseconds rest(plan_after_ - monotonic_ns());
    left = std::min(left.value_or(rest), rest);
  }
  if (left)
    wake_.wait_for(lock, std::max(*left, std::chrono::nanoseconds(0)), ready);
  else
    wake_.wait(lock, ready);
  std::vector<Item> items;
  while (!inbox_.empty() && items.size() < kTickLimit) {
    if (inbox_.front().reply) --user_items_;
    items.push_back(std::move(inbox_.front()));
    inbox_.pop_front();
  }
  // With the items: what was recorded before a question is committed before its answer.
  asked_.swap(questions_);
  return items;
}

void Brain::run() {
  while (true) {
    std::vector<Item> items = next_items();
    if (items.empty()) {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    tick(std::move(items));
    answer_questions();
  }
}

void Brain::plan() {
  int64_t begin = monotonic_ns();
  control_.plan(wall_now());
  int64_t end = monotonic_ns();
  plan_after_ = end + kPlanRest * (end - begin);
}

void Brain::tick(std::vector<Item> items) {
  std::vector<Inbound> commands;
  commands.reserve(items.size());
  for (Item& item : items) commands.push_back(std::move(item.inbound));
  control_.apply(commands, wall_now());
  if (control_.plan_needed() && monotonic_ns() >= plan_after_) plan();
  Result<TickResult> result = control_.commit();
  // The disk may be full for a while: nothing was acknowledged, so nothing is lost. New requests
  // are refused meanwhile, those of this tick wait for their answer.
  while (!result.ok()) {
    std::unique_lock lock(mutex_);
    if (trouble_.empty())
      log::error(cat("the store does not take changes: ", result.error().text()));
    trouble_ = cat("the server cannot save changes: ", result.error().message);
    wake_.wait_for(lock, std::chrono::milliseconds(kCommitRetry.value), [&] { return stopping_; });
    if (stopping_) {
      Error failure = error(Code::kUnavailable, trouble_);
      lock.unlock();
      for (Item& item : items)
        if (item.reply) item.reply(failure);
      return;
    }
    lock.unlock();
    result = control_.commit();
  }
  finish(std::move(*result), items);
}

void Brain::finish(TickResult result, std::vector<Item>& items) {
  view_.publish(std::move(result.publication));
  {
    std::lock_guard lock(mutex_);
    if (!trouble_.empty()) log::info("the store takes changes again");
    trouble_.clear();
    deadline_ = control_.next_deadline();
  }
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].reply) items[i].reply(std::move(result.replies[i]));
  if (!result.orders.empty()) release_(std::move(result.orders));
}

}  // namespace tessera::server
