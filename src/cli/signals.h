#pragma once
// Signals as something to wait for, and a terminal that is put back as it was.

#include <termios.h>

#include <csignal>
#include <initializer_list>
#include <optional>

#include "base/file.h"

namespace tessera::cli {

// Holds the signals back from the whole process (threads made later inherit that) and offers them
// on a descriptor. Made and destroyed on the main thread.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  // The next signal; nullopt when none waits.
  std::optional<int> take();

 private:
  sigset_t before_;
  Fd fd_;
};

// A terminal that gives every key at once and echoes nothing. Put back when this goes, and also
// when the process is ended by a fault.
class RawTerminal {
 public:
  explicit RawTerminal(int fd);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
};

}  // namespace tessera::cli
