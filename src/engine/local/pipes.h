#pragma once
// Named pipes between us and a process of a container. The program must ignore SIGPIPE.

#include <mutex>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/units.h"

namespace tessera::local {

Status make_fifo(const std::string& path);

// Writes all of it, waiting for a reader that is slow. Fails when `until` (an eventfd) becomes
// readable, or when nobody reads any more.
Status write_to_pipe(const Fd& pipe, std::string_view bytes, const Fd& until);

// A stream into a session: one thread sends, another reads.
class InputStream {
 public:
  InputStream();

  Status open();
  // Waits while the reader is slow; kConflict once there is none.
  Status send(std::string_view bytes);
  void close();
  // Nobody reads any more: whoever sends is let go.
  void abandon();
  // The next piece; empty at the end.
  Result<std::string> read();

 private:
  const Fd abandoned_;
  Fd output_;
  std::mutex mutex_;
  Fd input_;  // under the mutex
};

}  // namespace tessera::local
