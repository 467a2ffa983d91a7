#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <thread>

#include "base/text.h"
#include "engine/local/log_reader.h"
#include "engine/local/session_input.h"
#include "engine/local/sessions.h"

namespace tessera::local {

namespace {

// The exit is known a moment after the log has ended.
constexpr Millis kExitLimit{60'000};

class AttachSession final : public engine::Session {
 public:
  AttachSession(Machine& machine, TaskPtr task, engine::SessionEvents events)
      : machine_(machine),
        task_(std::move(task)),
        events_(std::move(events)),
        closed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~AttachSession() override {
    close();
    if (!reader_.joinable()) return;
    if (reader_.get_id() == std::this_thread::get_id())
      reader_.detach();
    else
      reader_.join();
  }

  Status start() {
    if (task_->stdin_open) {
      std::string path = machine_.stdin_path(task_->container);
      input_.take(Fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)));
    }
    begin_ = end_of_log(machine_.log_folder(task_->ref));
    reader_ = std::thread([this] { read(); });
    return Ok;
  }

  Status send_stdin(std::string_view bytes) override { return input_.send(bytes); }
  Status close_stdin() override { return input_.close(); }
  Status resize(int rows, int columns) override {
    return machine_.client.resize(task_->container, {}, rows, columns);
  }
  void close() override { ::eventfd_write(closed_.get(), 1); }

 private:
  void read() {
    (void)read_log_folder(machine_.log_folder(task_->ref), {.ref = task_->ref, .follow = true},
                          {.over = task_->over.get(), .stop = closed_.get(), .from = begin_},
                          [this](int stream, auto text) {
                            if (!text.empty() && events_.on_output) events_.on_output(stream, text);
                            return true;
                          });
    pollfd closed{closed_.get(), POLLIN, 0};
    if (::poll(&closed, 1, 0) == 1) return;
    machine_.tasks.wait_ended(task_, kExitLimit);
    int code = machine_.tasks.update([&] { return task_->exit_code; });
    close();
    if (events_.on_exit) events_.on_exit(code);
  }

  Machine& machine_;
  const TaskPtr task_;
  const engine::SessionEvents events_;
  const Fd closed_;
  LogPosition begin_;
  SessionInput input_{machine_.client, task_->container, {}, closed_};
  std::thread reader_;
};

}  // namespace

Result<std::unique_ptr<engine::Session>> start_attach(Machine& machine, const TaskPtr& task,
                                                      engine::SessionEvents events) {
  auto session = std::make_unique<AttachSession>(machine, task, std::move(events));
  TRY_STATUS(session->start());
  return std::unique_ptr<engine::Session>(std::move(session));
}

}  // namespace tessera::local
