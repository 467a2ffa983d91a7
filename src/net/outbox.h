#pragma once
// A bounded queue of bytes from producers on any thread to the connection on the I/O thread.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "net/loop.h"

namespace tessera::net {

// May what is pushed be joined with what waits already? The bytes of a body may, messages not.
enum class Pieces { kBytes, kMessages };

// Open until the producer finishes and all is delivered, or until close(): the reader went away or
// was too slow. Shared by the producer's handle and the connection.
class Outbox {
 public:
  // An empty reason: all was delivered.
  using Closed = std::function<void(const std::string& reason)>;

  Outbox(std::shared_ptr<Loop> loop, size_t limit_bytes, Pieces pieces)
      : loop_(std::move(loop)), limit_bytes_(limit_bytes), pieces_(pieces) {}

  // Producer's side, any thread; false once closed or finished. push() closes the outbox when the
  // chunk finds no room; push_within() first waits for room, and must not be called on the loop's
  // thread. A chunk larger than the limit fits into an empty outbox.
  bool push(std::string chunk);
  bool push_within(std::string chunk, Millis wait);
  void finish();
  // The producer goes: closes unless it has finished.
  void abandon(std::string reason);
  // Called once, on the loop's thread and never inside another call here; soon when closed already.
  void on_closed(Closed callback);
  bool closed() const;
  size_t queued_bytes() const;

  // Either side, any thread. The first reason stays.
  void close(std::string reason);

  // Connection's side, on the loop's thread. `ready`: take() has something again; it is called only
  // after a take() that gave nothing. `cut`: somebody called close().
  void attach(std::function<void()> ready, Closed cut);
  struct Batch {
    std::vector<std::string> chunks;
    bool last = false;
  };
  // All that waits; its bytes count against the limit until delivered().
  std::optional<Batch> take();
  void delivered();

 private:
  bool fits(size_t bytes) const { return queued_ == 0 || queued_ + bytes <= limit_bytes_; }
  bool append(std::unique_lock<std::mutex>& lock, std::string chunk);
  void wake_consumer();
  void close_and_tell(std::unique_lock<std::mutex>& lock, std::string reason);
  // Unlocks, then runs the task on the loop's thread (here, when that thread has ended): a
  // callback, or what it holds, may come back to this outbox.
  void tell(std::unique_lock<std::mutex>& lock, Loop::Task task);

  const std::shared_ptr<Loop> loop_;
  const size_t limit_bytes_;
  const Pieces pieces_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable room_;
  std::vector<std::string> chunks_;
  size_t queued_ = 0;  // bytes in chunks_ and in the batch under way
  size_t taken_ = 0;   // bytes in the batch under way
  bool consuming_ = true;
  bool finished_ = false;
  bool closed_ = false;
  std::string reason_;
  std::function<void()> ready_;
  Closed cut_;
  Closed on_closed_;
};

}  // namespace tessera::net
