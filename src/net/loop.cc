#include "net/loop.h"

#include <pthread.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera::net {

namespace asio = boost::asio;

namespace {

thread_local const Loop* current_loop = nullptr;

// Runs handlers until there are none or the context is stopped, whatever they throw.
template <class Run>
void run_guarded(Run run) {
  while (true) {
    try {
      run();
      return;
    } catch (const std::exception& thrown) {
      log::error(cat("a task on the I/O thread failed: ", thrown.what()));
    }
  }
}

}  // namespace

struct Loop::Watch {
  Watch(asio::io_context& context, int fd, std::function<bool()> callback)
      : descriptor(context, fd), ready(std::move(callback)) {}
  ~Watch() { descriptor.release(); }

  asio::posix::stream_descriptor descriptor;
  std::function<bool()> ready;
};

Loop::Loop() : context_(std::make_unique<asio::io_context>(1)) {
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "tessera-io");
}

Loop::~Loop() {
  stop();
}

void Loop::run() {
  current_loop = this;
  auto work = asio::make_work_guard(*context_);
  run_guarded([this] { context_->run(); });
}

bool Loop::here() const {
  return current_loop == this;
}

bool Loop::post(Task&& task) {
  std::lock_guard lock(mutex_);
  if (!context_) return false;
  asio::post(*context_, std::move(task));
  return true;
}

bool Loop::dispatch(Task&& task) {
  if (!here()) return post(std::move(task));
  task();
  return true;
}

void Loop::after(Millis wait, Task task) {
  post([this, wait, task = std::move(task)] {
    auto timer = std::make_shared<asio::steady_timer>(*context_);
    timer->expires_after(std::chrono::milliseconds(wait.value));
    timer->async_wait([timer, task](boost::system::error_code failed) {
      if (!failed) task();
    });
  });
}

void Loop::on_readable(int fd, std::function<bool()> ready) {
  post([this, fd, ready = std::move(ready)] {
    wait_readable(std::make_shared<Watch>(*context_, fd, ready));
  });
}

void Loop::wait_readable(std::shared_ptr<Watch> watch) {
  auto& descriptor = watch->descriptor;
  descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                        [this, watch = std::move(watch)](boost::system::error_code failed) mutable {
                          if (!failed && watch->ready()) wait_readable(std::move(watch));
                        });
}

void Loop::stop() {
  CHECK(!here());
  if (!thread_.joinable()) return;
  context_->stop();
  thread_.join();
  // From here this thread stands in for the loop's: connections end in order, then nothing is left
  // that could refer to the context.
  current_loop = this;
  context_->restart();
  run_guarded([this] { context_->poll(); });
  current_loop = nullptr;
  std::unique_ptr<asio::io_context> last;
  {
    std::lock_guard lock(mutex_);
    last = std::move(context_);
  }
}

}  // namespace tessera::net
