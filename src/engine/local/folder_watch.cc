#include "engine/local/folder_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"

namespace tessera::local {

// The one inotify instance and the thread that reads it.
class FolderWatches {
 public:
  static Result<FolderWatches*> of_this_process() {
    static FolderWatches watches;
    if (!watches.inotify_ || !watches.stop_)
      return error(Code::kExhausted, "the kernel gives no inotify instance", {},
                   "raise fs.inotify.max_user_instances, or the limit of open files");
    return &watches;
  }

  Status add(FolderWatch& watch, const std::string& folder) {
    constexpr uint32_t kMask = IN_MODIFY | IN_CREATE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_ONLYDIR;
    std::lock_guard lock(mutex_);  // before the thread can see an event of it
    watch.watch_ = ::inotify_add_watch(inotify_.get(), folder.c_str(), kMask);
    if (watch.watch_ < 0) return errno_error(cat("watch ", folder));
    watches_[watch.watch_].insert(&watch);
    return Ok;
  }

  void remove(FolderWatch& watch) {
    std::lock_guard lock(mutex_);
    auto found = watches_.find(watch.watch_);
    if (found == watches_.end()) return;
    found->second.erase(&watch);
    if (!found->second.empty()) return;
    ::inotify_rm_watch(inotify_.get(), watch.watch_);  // fails when the folder is gone: as well
    watches_.erase(found);
  }

 private:
  FolderWatches()
      : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC)) {
    if (inotify_ && stop_) thread_ = std::thread([this] { run(); });
  }
  ~FolderWatches() {
    if (!thread_.joinable()) return;
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }

  void run() {
    while (true) {
      pollfd fds[2] = {{inotify_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      ::poll(fds, 2, -1);
      if (fds[1].revents != 0) return;
      alignas(inotify_event) char buffer[16 << 10];
      for (ssize_t got; (got = ::read(inotify_.get(), buffer, sizeof buffer)) > 0;)
        for (ssize_t at = 0; at < got;) {
          const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
          tell(*event);
          at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        }
    }
  }

  void tell(const inotify_event& event) {
    std::lock_guard lock(mutex_);
    bool gone = (event.mask & (IN_DELETE_SELF | IN_IGNORED)) != 0;
    for (auto& [number, watches] : watches_) {
      // When the kernel's queue has overflown, anything may have happened.
      if (number != event.wd && (event.mask & IN_Q_OVERFLOW) == 0) continue;
      for (FolderWatch* watch : watches) {
        if (gone) watch->gone_ = true;
        ::eventfd_write(watch->woken_.get(), 1);
      }
    }
  }

  Fd inotify_, stop_;
  std::mutex mutex_;
  std::map<int, std::set<FolderWatch*>> watches_;  // by the kernel's number of the folder
  std::thread thread_;
};

Result<std::unique_ptr<FolderWatch>> FolderWatch::begin(const std::string& folder) {
  TRY(FolderWatches * watches, FolderWatches::of_this_process());
  Fd woken(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!woken) return errno_error("eventfd");
  std::unique_ptr<FolderWatch> out(new FolderWatch(std::move(woken)));
  TRY_STATUS(watches->add(*out, folder));
  return out;
}

FolderWatch::~FolderWatch() {
  auto watches = FolderWatches::of_this_process();
  if (watches.ok()) (*watches)->remove(*this);
}

void FolderWatch::clear() {
  eventfd_t count = 0;
  ::eventfd_read(woken_.get(), &count);
}

}  // namespace tessera::local
