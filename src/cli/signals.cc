#include "cli/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"

namespace tessera::cli {

namespace {

constexpr int kFaults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// Of the one RawTerminal there is; read by the handler of faults.
int raw_fd = -1;
termios saved_state;

// Only calls that are allowed in a signal handler; the handler is gone by then (SA_RESETHAND), so
// that the signal ends the process as it would have.
void restore_and_die(int number) {
  ::tcsetattr(raw_fd, TCSANOW, &saved_state);
  ::raise(number);
}

void set_fault_handler(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESETHAND;
  for (int number : kFaults) ::sigaction(number, &action, nullptr);
}

}  // namespace

Signals::Signals(std::initializer_list<int> numbers) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int number : numbers) ::sigaddset(&set, number);
  CHECK(::pthread_sigmask(SIG_BLOCK, &set, &before_) == 0);
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  CHECK(fd_);
}

Signals::~Signals() {
  while (take()) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> Signals::take() {
  signalfd_siginfo info;
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

RawTerminal::RawTerminal(int fd) {
  CHECK(raw_fd < 0);
  if (::tcgetattr(fd, &saved_state) != 0) return;  // no terminal: nothing to change or restore
  raw_fd = fd;
  set_fault_handler(restore_and_die);
  termios raw = saved_state;
  ::cfmakeraw(&raw);
  ::tcsetattr(fd, TCSADRAIN, &raw);
}

RawTerminal::~RawTerminal() {
  if (raw_fd < 0) return;
  ::tcsetattr(raw_fd, TCSADRAIN, &saved_state);
  set_fault_handler(SIG_DFL);
  raw_fd = -1;
}

}  // namespace tessera::cli
