#include "net/outbox.h"

#include <chrono>

#include "base/check.h"
#include "base/text.h"

namespace tessera::net {

namespace {

// Short lines are joined up to this: one write of the kernel then takes many of them.
constexpr size_t kJoinBytes = 16 << 10;

// Of memory: so that very many very small chunks are bounded too.
size_t cost(const std::string& chunk) {
  return sizeof chunk + chunk.size();
}

}  // namespace

bool Outbox::push(std::string chunk) {
  std::unique_lock lock(mutex_);
  return append(lock, std::move(chunk));
}

bool Outbox::push_within(std::string chunk, Millis wait) {
  CHECK(!loop_->here());
  std::unique_lock lock(mutex_);
  room_.wait_for(lock, std::chrono::milliseconds(wait.value),
                 [&] { return closed_ || finished_ || fits(cost(chunk)); });
  return append(lock, std::move(chunk));
}

bool Outbox::append(std::unique_lock<std::mutex>& lock, std::string chunk) {
  if (closed_ || finished_) return false;
  if (!fits(cost(chunk))) {
    close_and_tell(lock, cat("the client reads too slowly: ", queued_, " bytes waited for it"));
    return false;
  }
  queued_ += cost(chunk);
  if (pieces_ == Pieces::kBytes && !chunks_.empty() &&
      chunks_.back().size() + chunk.size() <= kJoinBytes)
    chunks_.back() += chunk;
  else
    chunks_.push_back(std::move(chunk));
  wake_consumer();
  return true;
}

void Outbox::finish() {
  std::lock_guard lock(mutex_);
  if (closed_ || finished_) return;
  finished_ = true;
  room_.notify_all();
  wake_consumer();
}

void Outbox::abandon(std::string reason) {
  std::unique_lock lock(mutex_);
  if (!finished_) close_and_tell(lock, std::move(reason));
}

void Outbox::wake_consumer() {
  if (consuming_) return;
  consuming_ = true;
  loop_->post(ready_);
}

void Outbox::on_closed(Closed callback) {
  std::unique_lock lock(mutex_);
  if (!closed_) {
    on_closed_ = std::move(callback);
    return;
  }
  tell(lock, [callback = std::move(callback), reason = reason_] { callback(reason); });
}

bool Outbox::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

size_t Outbox::queued_bytes() const {
  std::lock_guard lock(mutex_);
  return queued_;
}

void Outbox::close(std::string reason) {
  std::unique_lock lock(mutex_);
  close_and_tell(lock, std::move(reason));
}

void Outbox::close_and_tell(std::unique_lock<std::mutex>& lock, std::string reason) {
  if (closed_) return;
  closed_ = true;
  reason_ = std::move(reason);
  chunks_.clear();
  room_.notify_all();
  tell(lock, [cut = std::exchange(cut_, nullptr), told = std::exchange(on_closed_, nullptr),
              ready = std::exchange(ready_, nullptr), why = reason_] {
    if (cut) cut(why);
    if (told) told(why);
  });
}

void Outbox::tell(std::unique_lock<std::mutex>& lock, Loop::Task task) {
  lock.unlock();
  if (!loop_->post(std::move(task))) task();
}

void Outbox::attach(std::function<void()> ready, Closed cut) {
  std::unique_lock lock(mutex_);
  if (closed_) {
    tell(lock, [cut = std::move(cut), reason = reason_] { cut(reason); });
    return;
  }
  ready_ = std::move(ready);
  cut_ = std::move(cut);
  loop_->post(ready_);
}

std::optional<Outbox::Batch> Outbox::take() {
  std::lock_guard lock(mutex_);
  if (closed_) return std::nullopt;
  if (chunks_.empty() && !finished_) {
    consuming_ = false;
    return std::nullopt;
  }
  taken_ = queued_;
  return Batch{std::exchange(chunks_, {}), finished_};
}

void Outbox::delivered() {
  std::lock_guard lock(mutex_);
  queued_ -= taken_;
  taken_ = 0;
  room_.notify_all();
}

}  // namespace tessera::net
