// exec, attach, files, ports: a WebSocket on one side, a session with a container on the other.

#include "base/text.h"
#include "server/bridge.h"
#include "server/encode.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::Nothing, core::object_key;

namespace {

// The task that the query means, when its container runs.
Result<api::Task> running_task(const Services& services, const Call& call,
                               std::optional<int64_t> index) {
  std::string key = core::object_key(call.path.at("project"), call.path.at("name"));
  EntryPtr entry = services.view.find(std::string(core::kJobKind), key);
  if (!entry) return not_found(core::kJobKind, key);
  TRY(api::Job job, decode_tree<api::Job>(entry->tree()));
  TRY(std::string id, find_task(job, index));
  EntryPtr found = services.view.find(std::string(core::kTaskKind), id);
  if (!found) return not_found(core::kJobKind, key);  // it went away this moment
  TRY(api::Task task, decode_tree<api::Task>(found->tree()));
  if (task.phase != api::Phase::kRunning && task.phase != api::Phase::kStopping) {
    std::string phase(enum_names(task.phase)[static_cast<size_t>(task.phase)]);
    return error(Code::kConflict,
                 cat("job ", quoted(job.metadata.name), " does not run: it is ", phase), {},
                 cat("'tessera why ", job.metadata.name, "' tells more"));
  }
  return task;
}

using Open = std::function<Result<std::unique_ptr<engine::Session>>(const api::Task& task,
                                                                    engine::SessionEvents events)>;

void open_session(Services& services, const Call& call, std::optional<int64_t> index, Open open) {
  Result<api::Task> task = running_task(services, call, index);
  record(services, call, object_key(call.path.at("project"), call.path.at("name")),
         task.ok() ? Status(Ok) : Status(task.error()));
  if (!task.ok()) return call.refuse(task.error());
  start_session(services, call,
                [task = *task, open = std::move(open)](engine::SessionEvents events) {
                  return open(task, std::move(events));
                });
}

std::map<std::string, std::string> environment(const std::vector<std::string>& entries) {
  std::map<std::string, std::string> out;
  for (const std::string& entry : entries) {
    size_t at = entry.find('=');
    out[entry.substr(0, at)] = at == std::string::npos ? "" : entry.substr(at + 1);
  }
  return out;
}

}  // namespace

void bind_sessions(Router& router, Services& services) {
  router.bind(
      routes::kExecJob, std::function([&services](Call call, api::ExecQuery query, Nothing) {
        if (query.command.empty())
          return call.refuse(error(Code::kInvalid, "is required", "command",
                                   "give the parameter once for the program and each argument"));
        open_session(services, call, query.index,
                     [&services, query](const api::Task& task, engine::SessionEvents events) {
                       return services.engine.exec({.task = task.id,
                                                    .argv = query.command,
                                                    .env = environment(query.env),
                                                    .user = query.user,
                                                    .working_dir = query.workingDir,
                                                    .tty = query.tty,
                                                    .stdin_open = query.stdin_,
                                                    .rows = 0,
                                                    .columns = 0},
                                                   std::move(events));
                     });
      }));
  router.bind(
      routes::kJobFiles, std::function([&services](Call call, api::FilesQuery query, Nothing) {
        open_session(services, call, query.index,
                     [&services, query](const api::Task& task, engine::SessionEvents events) {
                       return services.engine.copy({task.id, task.attempt}, query.path, query.into,
                                                   std::move(events));
                     });
      }));
  router.bind(routes::kForwardPort,
              std::function([&services](Call call, api::PortForwardQuery query, Nothing) {
                open_session(
                    services, call, query.index,
                    [&services, query](const api::Task& task, engine::SessionEvents events) {
                      return services.engine.connect(
                          {task.id, task.attempt}, static_cast<int>(query.port), std::move(events));
                    });
              }));
  router.bind(
      routes::kAttachJob, std::function([&services](Call call, api::ExecQuery query, Nothing) {
        open_session(services, call, query.index,
                     [&services](const api::Task& task, engine::SessionEvents events) {
                       return services.engine.attach({task.id, task.attempt}, std::move(events));
                     });
      }));
}

}  // namespace tessera::server
