// Tasks: the running side of containers.
#include "base/text.h"
#include "engine/local/containerd/connection.h"
#include "engine/local/containerd/containerd.h"

namespace tessera::local {

namespace {

namespace v1 = services::tasks::v1;

constexpr const char* kProcessType = "types.containerd.io/opencontainers/runtime-spec/1/Process";

std::string process_name(std::string_view container, std::string_view exec) {
  return exec.empty() ? std::string(container) : cat(container, " (exec ", exec, ")");
}

template <class Request>
Request about(std::string_view container, std::string_view exec) {
  Request request;
  request.set_container_id(std::string(container));
  request.set_exec_id(std::string(exec));
  return request;
}

template <class Request>
void set_stdio(const Stdio& stdio, Request* request) {
  request->set_stdin(stdio.in);
  request->set_stdout(stdio.out);
  request->set_stderr(stdio.err);
  request->set_terminal(stdio.terminal);
}

template <class Reply>
Exit to_exit(const Reply& reply) {
  return {reply.exit_status(), instant(reply.exited_at())};
}

TaskState to_state(::containerd::v1::types::Status status) {
  switch (status) {
    case ::containerd::v1::types::CREATED:
      return TaskState::kCreated;
    case ::containerd::v1::types::RUNNING:
      return TaskState::kRunning;
    case ::containerd::v1::types::STOPPED:
      return TaskState::kStopped;
    case ::containerd::v1::types::PAUSED:
      return TaskState::kPaused;
    case ::containerd::v1::types::PAUSING:
      return TaskState::kPausing;
    default:
      return TaskState::kUnknown;
  }
}

// containerd leaves container_id empty and puts the container's or the exec's name into id.
TaskInfo to_task(const ::containerd::v1::types::Process& from, std::string_view exec) {
  TaskInfo out;
  out.container = from.id();
  out.exec = exec;
  out.pid = from.pid();
  out.state = to_state(from.status());
  out.exit_code = from.exit_status();
  out.exited = instant(from.exited_at());
  out.stdio = {from.stdin(), from.stdout(), from.stderr(), from.terminal()};
  return out;
}

}  // namespace

Result<uint32_t> Containerd::create_task(std::string_view container,
                                         const std::vector<Mount>& rootfs, const Stdio& stdio,
                                         const RuncOptions& runc) const {
  Call call(*connection_, cat("create the task of ", container), kTaskMs, lease_);
  v1::CreateTaskRequest request;
  request.set_container_id(std::string(container));
  set_mounts(rootfs, request.mutable_rootfs());
  set_stdio(stdio, &request);
  *request.mutable_options() = runc_options(runc);
  v1::CreateTaskResponse reply;
  TRY_STATUS(call.done(connection_->tasks->Create(call.context(), request, &reply)));
  return reply.pid();
}

Status Containerd::exec(std::string_view container, std::string_view exec, const Stdio& stdio,
                        std::string_view process_json) const {
  Call call(*connection_, cat("add a process to ", container), kTaskMs, lease_);
  auto request = about<v1::ExecProcessRequest>(container, exec);
  set_stdio(stdio, &request);
  request.mutable_spec()->set_type_url(kProcessType);
  request.mutable_spec()->set_value(std::string(process_json));
  google::protobuf::Empty reply;
  return call.done(connection_->tasks->Exec(call.context(), request, &reply));
}

Result<uint32_t> Containerd::start(std::string_view container, std::string_view exec) const {
  Call call(*connection_, cat("start ", process_name(container, exec)), kTaskMs, lease_);
  v1::StartResponse reply;
  TRY_STATUS(call.done(
      connection_->tasks->Start(call.context(), about<v1::StartRequest>(container, exec), &reply)));
  return reply.pid();
}

Status Containerd::kill(std::string_view container, std::string_view exec, int signal,
                        bool all) const {
  Call call(*connection_, cat("send signal ", signal, " to ", process_name(container, exec)),
            kQuickMs, lease_);
  auto request = about<v1::KillRequest>(container, exec);
  request.set_signal(static_cast<uint32_t>(signal));
  request.set_all(all);
  google::protobuf::Empty reply;
  return call.done(connection_->tasks->Kill(call.context(), request, &reply));
}

Result<Exit> Containerd::delete_task(std::string_view container) const {
  Call call(*connection_, cat("delete the task of ", container), kTaskMs, lease_);
  v1::DeleteTaskRequest request;
  request.set_container_id(std::string(container));
  v1::DeleteResponse reply;
  TRY_STATUS(call.done(connection_->tasks->Delete(call.context(), request, &reply)));
  return to_exit(reply);
}

Result<Exit> Containerd::delete_exec(std::string_view container, std::string_view exec) const {
  Call call(*connection_, cat("delete ", process_name(container, exec)), kTaskMs, lease_);
  v1::DeleteResponse reply;
  TRY_STATUS(call.done(connection_->tasks->DeleteProcess(
      call.context(), about<v1::DeleteProcessRequest>(container, exec), &reply)));
  return to_exit(reply);
}

Status Containerd::resize(std::string_view container, std::string_view exec, int rows,
                          int columns) const {
  Call call(*connection_, cat("resize the terminal of ", process_name(container, exec)), kQuickMs,
            lease_);
  auto request = about<v1::ResizePtyRequest>(container, exec);
  request.set_height(static_cast<uint32_t>(rows));
  request.set_width(static_cast<uint32_t>(columns));
  google::protobuf::Empty reply;
  return call.done(connection_->tasks->ResizePty(call.context(), request, &reply));
}

Status Containerd::close_stdin(std::string_view container, std::string_view exec) const {
  Call call(*connection_, cat("close the input of ", process_name(container, exec)), kQuickMs,
            lease_);
  auto request = about<v1::CloseIORequest>(container, exec);
  request.set_stdin(true);
  google::protobuf::Empty reply;
  return call.done(connection_->tasks->CloseIO(call.context(), request, &reply));
}

Result<Exit> Containerd::wait(std::string_view container, std::string_view exec,
                              Millis deadline) const {
  Call call(*connection_, cat("see the end of ", process_name(container, exec)), deadline, lease_);
  v1::WaitResponse reply;
  TRY_STATUS(call.done(
      connection_->tasks->Wait(call.context(), about<v1::WaitRequest>(container, exec), &reply)));
  return to_exit(reply);
}

Result<TaskInfo> Containerd::task(std::string_view container, std::string_view exec) const {
  Call call(*connection_, cat("look up ", process_name(container, exec)), kQuickMs, lease_);
  v1::GetResponse reply;
  TRY_STATUS(call.done(
      connection_->tasks->Get(call.context(), about<v1::GetRequest>(container, exec), &reply)));
  TaskInfo out = to_task(reply.process(), exec);
  out.container = container;
  return out;
}

Result<std::vector<TaskInfo>> Containerd::tasks() const {
  Call call(*connection_, "list tasks", kQuickMs, lease_);
  v1::ListTasksResponse reply;
  TRY_STATUS(call.done(connection_->tasks->List(call.context(), {}, &reply)));
  std::vector<TaskInfo> out;
  for (const auto& row : reply.tasks()) out.push_back(to_task(row, {}));
  return out;
}

Result<std::vector<uint32_t>> Containerd::pids(std::string_view container) const {
  Call call(*connection_, cat("list the processes of ", container), kQuickMs, lease_);
  v1::ListPidsRequest request;
  request.set_container_id(std::string(container));
  v1::ListPidsResponse reply;
  TRY_STATUS(call.done(connection_->tasks->ListPids(call.context(), request, &reply)));
  std::vector<uint32_t> out;
  for (const auto& row : reply.processes()) out.push_back(row.pid());
  return out;
}

}  // namespace tessera::local
