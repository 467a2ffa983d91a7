#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "engine/local/pipes.h"
#include "engine/local/runc_text.h"
#include "engine/local/session_input.h"
#include "engine/local/sessions.h"
#include "engine/local/spec.h"
#include "wire/json.h"

namespace tessera::local {

namespace {

// A wait that was cut off by a restart of containerd is begun again.
constexpr Millis kWaitSlice{600'000};
constexpr int kRetryMs = 500;
// Children that the process left behind may hold its output open: it has ended all the same. What
// it wrote itself has long arrived by then.
constexpr int kLingerMs = 200;
constexpr int kKilled = 128 + SIGKILL;

class ExecSession final : public engine::Session {
 public:
  ExecSession(Machine& machine, TaskPtr task, engine::SessionEvents events)
      : machine_(machine),
        task_(std::move(task)),
        events_(std::move(events)),
        id_(cat("exec-", monotonic_ns())),
        folder_(cat(machine.state_folder(task_->container), "/", id_)),
        exited_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        closed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~ExecSession() override {
    close();
    for (std::thread* thread : {&reader_, &waiter_})
      if (thread->joinable()) {
        if (thread->get_id() == std::this_thread::get_id())
          thread->detach();
        else
          thread->join();
      }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Status start(const engine::ExecRequest& request) {
    TRY(ContainerRecord record, machine_.client.container(task_->container));
    TRY(Value spec, wire::parse_json(record.spec_json));
    std::optional<User> user;
    if (!request.user.empty()) {
      TRY(TaskInfo info, machine_.client.task(task_->container));
      TRY(user, resolve_user(request.user, read_user_files(cat("/proc/", info.pid, "/root"))));
    }
    TRY(Stdio stdio, open_pipes(request));
    TRY_STATUS(machine_.client.exec(task_->container, id_, stdio,
                                    wire::to_json(make_exec_process(spec, request, user))));
    auto pid = machine_.client.start(task_->container, id_);
    if (!pid.ok()) {
      (void)machine_.client.delete_exec(task_->container, id_);
      ended_ = true;
      return error(Code::kInvalid, plain_reason(pid.error().message));
    }
    pid_ = static_cast<pid_t>(*pid);
    if (request.tty && request.rows > 0) (void)resize(request.rows, request.columns);
    waiter_ = std::thread([this] { wait(); });
    reader_ = std::thread([this] { read(); });
    return Ok;
  }

  Status send_stdin(std::string_view bytes) override { return input_.send(bytes); }
  Status close_stdin() override { return input_.close(); }
  Status resize(int rows, int columns) override {
    return machine_.client.resize(task_->container, id_, rows, columns);
  }
  void close() override {
    ::eventfd_write(closed_.get(), 1);
    if (ended_ || pid_ <= 0) return;
    // The process leads a session of its own: with it goes what it started in its group.
    ::kill(-pid_, SIGKILL);
    (void)machine_.client.kill(task_->container, id_, SIGKILL, /*all=*/false);
  }

 private:
  Result<Stdio> open_pipes(const engine::ExecRequest& request) {
    TRY_STATUS(make_directories(folder_, 0700));
    Stdio stdio{.terminal = request.tty};
    auto open_fifo = [&](const char* name, int flags, Fd& fd) -> Result<std::string> {
      std::string path = cat(folder_, "/", name);
      TRY_STATUS(make_fifo(path));
      fd = Fd(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
      if (!fd) return errno_error(cat("open ", path));
      return path;
    };
    TRY(stdio.out, open_fifo("out", O_RDONLY, output_[0]));
    if (!request.tty) {
      TRY(stdio.err, open_fifo("err", O_RDONLY, output_[1]));
    }
    // For reading as well, so that it opens before the shim is there.
    if (request.stdin_open) {
      Fd input;
      TRY(stdio.in, open_fifo("in", O_RDWR, input));
      input_.take(std::move(input));
    }
    return stdio;
  }

  void wait() {
    while (true) {
      auto exit = machine_.client.wait(task_->container, id_, kWaitSlice);
      if (exit.ok()) code_ = static_cast<int>(exit->code);
      bool unknown = !exit.ok() && exit.error().code == Code::kNotFound;
      if (unknown) code_ = kKilled;  // it went with its container
      if (exit.ok() || unknown) break;
      pollfd given_up{task_->over.get(), POLLIN, 0};
      if (exit.error().code != Code::kTimeout && ::poll(&given_up, 1, kRetryMs) == 1) {
        code_ = kKilled;
        break;
      }
    }
    ::eventfd_write(exited_.get(), 1);
  }

  void read() {
    bool exited = false;
    while (output_[0] || output_[1] || !exited) {
      pollfd fds[3] = {{output_[0].get(), POLLIN, 0},
                       {output_[1].get(), POLLIN, 0},
                       {exited ? -1 : exited_.get(), POLLIN, 0}};
      int ready = ::poll(fds, 3, exited ? kLingerMs : -1);
      if (ready == 0) break;
      exited = exited || fds[2].revents != 0;
      for (int i : {0, 1})
        if (fds[i].revents != 0) pass_on(i);
    }
    ended_ = true;
    ::eventfd_write(closed_.get(), 1);
    (void)machine_.client.delete_exec(task_->container, id_);
    if (events_.on_exit) events_.on_exit(code_);
  }

  void pass_on(int index) {
    char buffer[32 << 10];
    ssize_t got = ::read(output_[index].get(), buffer, sizeof buffer);
    if (got > 0 && events_.on_output)
      events_.on_output(index + 1, {buffer, static_cast<size_t>(got)});
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) output_[index].reset();
  }

  Machine& machine_;
  const TaskPtr task_;
  const engine::SessionEvents events_;
  const std::string id_;
  const std::string folder_;
  Fd output_[2];
  const Fd exited_;  // readable once `code_` is known
  const Fd closed_;  // readable once nobody takes input any more
  SessionInput input_{machine_.client, task_->container, id_, closed_};
  pid_t pid_ = 0;
  std::atomic<int> code_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread waiter_, reader_;
};

}  // namespace

Result<std::unique_ptr<engine::Session>> start_exec(Machine& machine, const TaskPtr& task,
                                                    const engine::ExecRequest& request,
                                                    engine::SessionEvents events) {
  if (request.argv.empty()) return error(Code::kInvalid, "there is no program to run");
  auto session = std::make_unique<ExecSession>(machine, task, std::move(events));
  TRY_STATUS(session->start(request));
  return std::unique_ptr<engine::Session>(std::move(session));
}

}  // namespace tessera::local
