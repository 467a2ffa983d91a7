// Files out of a container and into it, as a tar stream.

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "archive/archive.h"
#include "base/text.h"
#include "engine/local/pipes.h"
#include "engine/local/sessions.h"
#include "wire/json.h"

namespace tessera::local {

namespace {

constexpr size_t kPiece = size_t{64} << 10;

// Who reads and writes: the container's user, so that nobody gets at files of mounted folders that
// way, or leaves some there, that its own programs could not.
struct Identity {
  int64_t uid = 0, gid = 0;
  std::vector<gid_t> groups;
};

Result<Identity> identity_of(const std::string& spec_json) {
  TRY(Value spec, wire::parse_json(spec_json));
  const Value* process = spec.find("process");
  const Value* user = process ? process->find("user") : nullptr;
  auto number = [&](std::string_view key) -> int64_t {
    const Value* found = user ? user->find(key) : nullptr;
    return found && found->integer() ? *found->integer() : 0;
  };
  Identity out{number("uid"), number("gid"), {}};
  const Value* groups = user ? user->find("additionalGids") : nullptr;
  if (groups && groups->list())
    for (const Value& group : *groups->list())
      if (group.integer()) out.groups.push_back(static_cast<gid_t>(*group.integer()));
  return out;
}

// This thread alone sees the container's files as its programs do, with their rights: glibc's own
// calls would change the whole server. It never comes back from that.
Status enter(uint32_t pid, const Identity& identity) {
  if (::unshare(CLONE_FS) != 0) return errno_error("leave the working folder");
  if (::chroot(cat("/proc/", pid, "/root").c_str()) != 0 || ::chdir("/") != 0)
    return errno_error("enter the container's files");
  if (::syscall(SYS_setgroups, identity.groups.size(), identity.groups.data()) != 0)
    return errno_error("become the container's user");
  ::syscall(SYS_setfsgid, identity.gid);
  ::syscall(SYS_setfsuid, identity.uid);
  return Ok;
}

class FileSession final : public engine::Session {
 public:
  FileSession(std::string path, bool into, engine::SessionEvents events)
      : path_(std::move(path)),
        into_(into),
        events_(std::move(events)),
        closed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~FileSession() override {
    FileSession::close();
    if (!worker_.joinable()) return;
    if (worker_.get_id() == std::this_thread::get_id())
      worker_.detach();
    else
      worker_.join();
  }

  Status start(uint32_t pid, const Identity& identity) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("make a pipe");
    output_ = Fd(ends[0]);
    input_ = Fd(ends[1]);
    ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
    worker_ = std::thread([this, pid, identity] { run(pid, identity); });
    return Ok;
  }

  Status send_stdin(std::string_view bytes) override {
    std::lock_guard lock(mutex_);
    if (!input_ || !into_) return error(Code::kConflict, "no input is taken");
    return write_to_pipe(input_, bytes, closed_);
  }
  Status close_stdin() override {
    std::lock_guard lock(mutex_);
    input_.reset();
    return Ok;
  }
  Status resize(int, int) override { return Ok; }  // there is no terminal
  void close() override {
    stopped_ = true;
    ::eventfd_write(closed_.get(), 1);
    (void)close_stdin();
  }

 private:
  void run(uint32_t pid, const Identity& identity) {
    Status done = enter(pid, identity);
    if (done.ok()) done = into_ ? take() : give();
    if (!done.ok() && events_.on_output) events_.on_output(2, done.error().text());
    stopped_ = true;
    ::eventfd_write(closed_.get(), 1);  // nobody waits to be read any more
    if (events_.on_exit) events_.on_exit(done.ok() ? 0 : 1);
  }

  Status give() {
    return archive::pack(path_, [this](std::string_view bytes) {
      if (events_.on_output) events_.on_output(1, bytes);
      return !stopped_;
    });
  }

  Status take() {
    return archive::unpack(
        [this]() -> Result<std::string> {
          std::string piece(kPiece, '\0');
          ssize_t got = -1;
          do got = ::read(output_.get(), piece.data(), piece.size());
          while (got < 0 && errno == EINTR);
          if (got < 0) return errno_error("read the stream");
          piece.resize(static_cast<size_t>(got));
          return piece;
        },
        path_);
  }

  const std::string path_;
  const bool into_;
  const engine::SessionEvents events_;
  const Fd closed_;
  std::atomic<bool> stopped_ = false;
  Fd output_;  // what was sent in, to be read
  std::mutex mutex_;
  Fd input_;
  std::thread worker_;
};

}  // namespace

Result<std::unique_ptr<engine::Session>> start_copy(Machine& machine, const TaskPtr& task,
                                                    const std::string& path, bool into,
                                                    engine::SessionEvents events) {
  TRY(ContainerRecord record, machine.client.container(task->container));
  TRY(Identity identity, identity_of(record.spec_json));
  TRY(TaskInfo info, machine.client.task(task->container));
  auto session = std::make_unique<FileSession>(path, into, std::move(events));
  TRY_STATUS(session->start(info.pid, identity));
  return std::unique_ptr<engine::Session>(std::move(session));
}

}  // namespace tessera::local
