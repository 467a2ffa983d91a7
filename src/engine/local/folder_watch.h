#pragma once
// Tells many at once that something in a folder changed. The kernel gives each user 128 inotify
// instances (fs.inotify.max_user_instances) and every instance tens of thousands of watches, so
// all of this process share one.

#include <atomic>
#include <memory>
#include <string>

#include "base/file.h"

namespace tessera::local {

// One watcher of one folder; used by one thread.
class FolderWatch {
 public:
  // The folder must be there.
  static Result<std::unique_ptr<FolderWatch>> begin(const std::string& folder);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Becomes readable when a file in the folder is made, written or closed after writing, and when
  // the folder is removed; stays so until clear().
  int fd() const { return woken_.get(); }
  void clear();
  bool gone() const { return gone_; }

 private:
  friend class FolderWatches;
  explicit FolderWatch(Fd woken) : woken_(std::move(woken)) {}

  Fd woken_;
  std::atomic<bool> gone_ = false;
  int watch_ = -1;
};

}  // namespace tessera::local
