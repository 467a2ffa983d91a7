#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

extern char** environ;

namespace tessera {

namespace {

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& extra) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view view(*entry);
    if (!extra.contains(std::string(view.substr(0, view.find('='))))) out.emplace_back(view);
  }
  for (const auto& [key, value] : extra) out.push_back(cat(key, "=", value));
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(const ProgramSpec& spec, const Pipe& in, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);

  std::vector<std::string> argv = spec.argv;
  std::vector<std::string> env = environment_with(spec.env);
  pid_t pid = -1;
  int failure = ::posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes, pointers(argv).data(),
                               pointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    return error(failure == ENOENT ? Code::kNotFound : Code::kInternal,
                 cat("cannot start ", spec.argv[0], ": ", std::strerror(failure)));
  return pid;
}

// Reads what is there; true when the other side closed it.
bool drain(Fd& fd, std::string& into) {
  char buffer[65536];
  ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
  if (got > 0) into.append(buffer, static_cast<size_t>(got));
  return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

void pass_on(const ProgramSpec& spec, ProgramOutput& output) {
  if (!output.out.empty()) spec.on_output(1, output.out);
  if (!output.err.empty()) spec.on_output(2, output.err);
  output.out.clear();
  output.err.clear();
}

enum class Ending { kByItself, kDeadline, kTick };

// Moves input and output until both outputs are closed, or there is another reason to end it.
Ending pump(const ProgramSpec& spec, Fd in, Fd out, Fd err, ProgramOutput& result) {
  int64_t end_ns = monotonic_ns() + spec.deadline.value * 1'000'000;
  std::string_view input = spec.input;
  ::fcntl(in.get(), F_SETFL, O_NONBLOCK);
  if (input.empty()) in.reset();
  while (out || err) {
    int64_t left_ms = (end_ns - monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) return Ending::kDeadline;
    if (spec.on_tick && !spec.on_tick()) return Ending::kTick;
    if (spec.on_tick) left_ms = std::min<int64_t>(left_ms, kTickMs);
    pollfd fds[3] = {{in.get(), POLLOUT, 0}, {out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
    if (::poll(fds, 3, static_cast<int>(left_ms)) < 0 && errno != EINTR) return Ending::kDeadline;
    if (fds[0].revents != 0) {
      ssize_t put = ::write(in.get(), input.data(), input.size());
      if (put > 0) input.remove_prefix(static_cast<size_t>(put));
      if (input.empty() || (put < 0 && errno != EAGAIN && errno != EINTR)) in.reset();
    }
    if (fds[1].revents != 0 && drain(out, result.out)) out.reset();
    if (fds[2].revents != 0 && drain(err, result.err)) err.reset();
    if (spec.on_output) pass_on(spec, result);
  }
  return Ending::kByItself;
}

}  // namespace

Result<ProgramOutput> run_program(const ProgramSpec& spec) {
  CHECK(!spec.argv.empty());
  TRY(Pipe in, make_pipe());
  TRY(Pipe out, make_pipe());
  TRY(Pipe err, make_pipe());
  TRY(pid_t pid, spawn(spec, in, out, err));
  in.read.reset();
  out.write.reset();
  err.write.reset();

  ProgramOutput result;
  Ending ending = pump(spec, std::move(in.write), std::move(out.read), std::move(err.read), result);
  if (ending != Ending::kByItself) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (ending == Ending::kTick) return error(Code::kConflict, cat(spec.argv[0], " was stopped"));
  if (ending == Ending::kDeadline)
    return error(Code::kTimeout,
                 cat(spec.argv[0], " did not finish within ", format_duration(spec.deadline)));
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace tessera
