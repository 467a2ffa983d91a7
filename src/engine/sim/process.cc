#include "engine/sim/process.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/text.h"

namespace tessera::engine::sim {

void Process::run() {
  auto keep = shared_from_this();  // whoever hears of the exit may let go of us
  while (!ended_ && step(program_[at_])) ++at_;
}

bool Process::step(const Op& op) {
  using Kind = Op::Kind;
  switch (op.kind) {
    case Kind::kPrint:
      events_.output(op.stream, op.text);
      return true;
    case Kind::kSleep:
      return sleep(op.time);
    case Kind::kAwaitRelease:
      return releases_ > 0 && releases_-- > 0;
    case Kind::kEcho:
      return echo();
    case Kind::kLoop:
      return false;
    case Kind::kIgnoreTerm:
      ignores_sigterm_ = true;
      return true;
    case Kind::kOutOfMemory:
      end(128 + SIGKILL, true);
      return false;
    case Kind::kExit:
      end(op.code, false);
      return false;
  }
  return false;
}

bool Process::sleep(Millis time) {
  if (!wakes_) {
    wakes_ = timeline_.now() + time;
    timeline_.at(*wakes_, [weak = weak_from_this()] {
      if (auto process = weak.lock()) process->run();
    });
  }
  if (timeline_.now() < *wakes_) return false;
  wakes_.reset();
  return true;
}

bool Process::echo() {
  if (!stdin_.empty()) events_.output(1, std::exchange(stdin_, {}));
  return stdin_ended_;
}

void Process::signal(int number) {
  constexpr int kHarmless[] = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH};
  if (ended_ || std::ranges::count(kHarmless, number) > 0) return;
  if (number == SIGTERM && ignores_sigterm_) return;
  end(128 + number, false);
}

void Process::release() {
  ++releases_;
  run();
}

Status Process::send_stdin(std::string_view bytes) {
  if (ended_) return error(Code::kConflict, "the program has ended");
  if (stdin_.size() + bytes.size() > kStdinLimitBytes)
    return error(Code::kExhausted, "the program does not read its input", {}, "try again later");
  stdin_ += bytes;
  run();
  return Ok;
}

void Process::close_stdin() {
  stdin_ended_ = true;
  run();
}

void Process::end(int exit_code, bool oom_killed) {
  auto keep = shared_from_this();
  ended_ = true;
  events_.exit(exit_code, oom_killed);
}

std::optional<int> signal_number(std::string_view name) {
  if (auto number = to_int(name)) {
    if (*number > 0 && *number < NSIG) return static_cast<int>(*number);
    return std::nullopt;
  }
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return std::nullopt;
}

}  // namespace tessera::engine::sim
