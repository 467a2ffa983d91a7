#include "engine/sim/session.h"

namespace tessera::engine::sim {

void Channel::output(int stream, std::string_view text) {
  deliver([stream, copy = std::string(text)](const SessionEvents& events) {
    if (events.on_output) events.on_output(stream, copy);
  });
}

void Channel::exit(int exit_code) {
  deliver([exit_code](const SessionEvents& events) {
    if (events.on_exit) events.on_exit(exit_code);
  });
}

void Channel::deliver(std::function<void(const SessionEvents&)> call) {
  timeline_.deliver([self = shared_from_this(), call = std::move(call)] {
    std::lock_guard guard(self->delivering_);
    if (!self->closed_) call(self->events_);
  });
}

void Channel::close() {
  std::lock_guard guard(delivering_);
  closed_ = true;
}

}  // namespace tessera::engine::sim
