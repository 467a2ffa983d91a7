#include "engine/local/session_input.h"

#include <poll.h>

#include "base/clock.h"
#include "engine/local/pipes.h"

namespace tessera::local {

namespace {

// A restart of containerd takes a second, on a busy machine some; one that stays away so long is
// the admin's to mend.
constexpr Millis kPatience{60'000};
constexpr int kRetryMs = 100;

}  // namespace

void SessionInput::take(Fd pipe) {
  std::lock_guard lock(mutex_);
  pipe_ = std::move(pipe);
}

Status SessionInput::send(std::string_view bytes) {
  std::lock_guard lock(mutex_);
  if (!pipe_)
    return error(Code::kConflict, "the process's standard input is not open", {},
                 "run it with an open standard input (-i)");
  return write_to_pipe(pipe_, bytes, until_);
}

Status SessionInput::close() {
  std::lock_guard lock(mutex_);
  if (!pipe_) return Ok;
  pipe_.reset();
  int64_t limit = monotonic_ns() + kPatience.value * 1'000'000;
  while (true) {
    Status closed = client_.close_stdin(container_, exec_);
    bool away = !closed.ok() && closed.error().code == Code::kUnavailable;
    pollfd given_up{until_.get(), POLLIN, 0};
    if (!away || monotonic_ns() > limit || ::poll(&given_up, 1, kRetryMs) == 1) return closed;
  }
}

}  // namespace tessera::local
