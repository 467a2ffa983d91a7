#pragma once
// One run of a virtual program. All methods with the timeline's lock held.

#include <memory>

#include "base/result.h"
#include "engine/sim/program.h"
#include "engine/sim/timeline.h"

namespace tessera::engine::sim {

// Input that waits for a program to read it; as much as a pipe holds.
inline constexpr size_t kStdinLimitBytes = size_t{64} << 10;

struct ProcessEvents {
  std::function<void(int stream, std::string_view text)> output;
  std::function<void(int exit_code, bool oom_killed)> exit;  // exactly once, last
};

class Process : public std::enable_shared_from_this<Process> {
 public:
  Process(Timeline& timeline, Program program, bool stdin_open, ProcessEvents events)
      : timeline_(timeline),
        program_(std::move(program)),
        stdin_ended_(!stdin_open),
        events_(std::move(events)) {}

  void run();  // as far as it gets now
  void signal(int number);
  void release();  // lets one wait, now or later, go on
  Status send_stdin(std::string_view bytes);
  void close_stdin();
  bool ended() const { return ended_; }

 private:
  bool step(const Op& op);  // false: not over yet
  bool sleep(Millis time);
  bool echo();
  void end(int exit_code, bool oom_killed);

  Timeline& timeline_;
  Program program_;
  size_t at_ = 0;
  std::optional<Instant> wakes_;
  int releases_ = 0;
  std::string stdin_;
  bool stdin_ended_;
  bool ignores_sigterm_ = false;
  bool ended_ = false;
  ProcessEvents events_;
};

// 15 for "SIGTERM", "TERM" or "15".
std::optional<int> signal_number(std::string_view name);

}  // namespace tessera::engine::sim
