#pragma once
// One mutex for each key in use: work on the same thing waits, work on others does not.

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace tessera::local {

class KeyedMutex {
 public:
  class Lock {
   public:
    Lock(KeyedMutex& owner, std::string key) : owner_(owner), key_(std::move(key)) {
      std::unique_lock lock(owner_.mutex_);
      owner_.freed_.wait(lock, [this] { return owner_.held_.insert(key_).second; });
    }
    ~Lock() {
      std::lock_guard lock(owner_.mutex_);
      owner_.held_.erase(key_);
      owner_.freed_.notify_all();
    }
    Lock(const Lock&) = delete;

   private:
    KeyedMutex& owner_;
    const std::string key_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::set<std::string> held_;
};

}  // namespace tessera::local
