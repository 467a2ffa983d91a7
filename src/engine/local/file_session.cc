// Files out of a container and into it, as a tar stream.

#include <grp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "archive/archive.h"
#include "base/text.h"
#include "engine/local/pipes.h"
#include "engine/local/sessions.h"
#include "wire/json.h"

namespace tessera::local {

namespace {

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
      : path_(std::move(path)), into_(into), events_(std::move(events)) {}

  ~FileSession() override {
    FileSession::close();
    if (!worker_.joinable()) return;
    if (worker_.get_id() == std::this_thread::get_id())
      worker_.detach();
    else
      worker_.join();
  }

  Status start(uint32_t pid, const Identity& identity) {
    TRY_STATUS(input_.open());
    worker_ = std::thread([this, pid, identity] { run(pid, identity); });
    return Ok;
  }

  Status send_stdin(std::string_view bytes) override {
    if (!into_) return error(Code::kConflict, "no input is taken");
    return input_.send(bytes);
  }
  Status close_stdin() override {
    input_.close();
    return Ok;
  }
  Status resize(int, int) override { return Ok; }  // there is no terminal
  void close() override {
    stopped_ = true;
    input_.abandon();
  }

 private:
  void run(uint32_t pid, const Identity& identity) {
    Status done = enter(pid, identity);
    if (done.ok()) done = into_ ? take() : give();
    if (!done.ok() && events_.on_output) events_.on_output(2, done.error().text());
    stopped_ = true;
    input_.abandon();
    if (events_.on_exit) events_.on_exit(done.ok() ? 0 : 1);
  }

  Status give() {
    return archive::pack(path_, [this](std::string_view bytes) {
      if (events_.on_output) events_.on_output(1, bytes);
      return !stopped_;
    });
  }

  Status take() {
    return archive::unpack([this] { return input_.read(); }, path_);
  }

  const std::string path_;
  const bool into_;
  const engine::SessionEvents events_;
  std::atomic<bool> stopped_ = false;
  InputStream input_;
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
