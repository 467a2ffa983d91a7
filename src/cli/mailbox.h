#pragma once
// Things that other threads tell the main thread, which waits for them together with signals and
// input: a queue with a descriptor that is readable while something is in it.

#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/file.h"

namespace tessera::cli {

template <class T>
class Mailbox {
 public:
  Mailbox() : ready_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(ready_); }

  void put(T thing) {
    std::lock_guard lock(mutex_);
    things_.push_back(std::move(thing));
    eventfd_t one = 1;
    CHECK(::eventfd_write(ready_.get(), one) == 0);
  }
  std::vector<T> take_all() {
    std::lock_guard lock(mutex_);
    eventfd_t count = 0;
    ::eventfd_read(ready_.get(), &count);
    return std::exchange(things_, {});
  }
  int fd() const { return ready_.get(); }

 private:
  Fd ready_;
  std::mutex mutex_;  // guards things_
  std::vector<T> things_;
};

}  // namespace tessera::cli
