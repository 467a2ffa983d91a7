#pragma once
// The I/O thread: tasks, timers and descriptors in one place, without locks between them.

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/units.h"

namespace boost::asio {
class io_context;
}

namespace tessera::net {

// One thread with an event loop. post(), after() and on_readable() may be called from any thread,
// also after stop(). A task must not block; one that throws is logged and the loop goes on.
class Loop {
 public:
  using Task = std::function<void()>;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs the task on the loop's thread, after what is queued there. False, with the task left as it
  // was, once the loop has stopped.
  bool post(Task&& task);
  bool post(const Task& task) { return post(Task(task)); }
  // As post(), but right now when called on the loop's thread.
  bool dispatch(Task&& task);
  // Runs the task after the given time; never once the loop has stopped.
  void after(Millis wait, Task task);
  // Runs `ready` each time the descriptor can be read, until it returns false. The descriptor stays
  // the caller's and must stay open as long.
  void on_readable(int fd, std::function<bool()> ready);

  // Is the caller on this loop's thread?
  bool here() const;
  // Ends the thread; what is queued still runs, timers do not. Not to be called on its thread.
  void stop();

  // For net's own files, on the loop's thread only.
  boost::asio::io_context& context() { return *context_; }

 private:
  struct Watch;
  void run();
  void wait_readable(std::shared_ptr<Watch> watch);

  std::mutex mutex_;  // guards context_ against stop() while another thread posts
  std::unique_ptr<boost::asio::io_context> context_;
  std::thread thread_;
};

}  // namespace tessera::net
