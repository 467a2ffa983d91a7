// exec and attach: a person or a pipe inside a running container.

#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/job_exit.h"
#include "cli/job_find.h"
#include "cli/job_watch.h"
#include "cli/objects.h"
#include "cli/run_container.h"
#include "cli/schema_doc.h"
#include "cli/session_pump.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

Status need_terminal(const Context& context, bool tty, bool input) {
  if (!tty || !input || context.console.in_is_terminal()) return Ok;
  return error(Code::kInvalid, "the input is not a terminal", Args::label("tty"),
               "leave out -t to send it a file or a pipe");
}

Result<int> exit_of(Context& context, const std::string& job, PumpEnd end) {
  if (end.signal) return 128 + *end.signal;
  if (end.detached) {
    context.console.note(cat("detached from job ", job));
    return 0;
  }
  if (!end.status)
    return error(Code::kUnavailable, end.broken.empty()
                                         ? "the session ended without an exit code"
                                         : cat("the session broke off: ", end.broken));
  const std::string& message = end.status->message;
  if (!message.empty()) context.console.note(message);
  // The server says 126 of every program that could not be started.
  if (!message.empty() && start_failure_code(message) == kNotFoundExit) return kNotFoundExit;
  return static_cast<int>(end.status->exitCode & 0xFF);
}

// Right after 'run -d' a job may still be starting, which takes a moment: that is waited for. A
// place in the queue may take days: that is not.
Status await_start(Context& context, const std::string& name) {
  auto begun = [](const api::Job& job) { return job.status.phase != api::Phase::kStarting; };
  auto away = [&](const Error& why) { context.console.note(why.text()); };
  auto job = wait_until(context.client, context.settings.project, name, begun, away);
  if (!job.ok()) return std::move(job).error();
  return Ok;
}

// Opens the session of the route and stays in it. Signals are held back before the connection makes
// its thread: one that had them would end the process, with the terminal left raw.
template <class R>
Result<int> converse(Context& context, const R& route, const Args& args, const std::string& job,
                     const api::ExecQuery& query) {
  TRY_STATUS(need_terminal(context, query.tty, query.stdin_));
  std::string keys;
  TRY_STATUS(with_value(args, "detach-keys", parse_detach_keys,
                        [&](std::string bytes) { keys = std::move(bytes); }));
  TRY_STATUS(await_start(context, job));
  Signals signals({SIGTERM, SIGHUP, SIGINT, SIGWINCH});
  TRY(auto session, context.client.open(route, context.path(job), query));
  return exit_of(context, job,
                 pump(*session, context.console,
                      {.input = query.stdin_,
                       .tty = query.tty && query.stdin_,
                       .detach_keys = keys,
                       .signals = &signals}));
}

Result<int> exec(Context& context, const Args& args) {
  TRY(std::string job, find_job(context, args.operands[0]));
  api::ExecQuery query{.command = {args.operands.begin() + 1, args.operands.end()},
                       .tty = args.has("tty"),
                       .stdin_ = args.has("interactive"),
                       .user = args.text("user"),
                       .workingDir = args.text("workdir")};
  auto environment = client::process_environment();
  for (const std::string& entry : args.all("env")) {
    bool has_value = entry.find('=') != std::string::npos;
    if (has_value)
      query.env.push_back(entry);
    else if (auto own = environment(entry))
      query.env.push_back(cat(entry, "=", *own));
  }
  if (std::string index = args.text("index"); !index.empty()) {
    auto number = to_int(index);
    if (!number) return error(Code::kInvalid, cat(quoted(index), " is not a number"), "--index");
    query.index = *number;
  }
  return converse(context, routes::kExecJob, args, job, query);
}

Result<int> attach(Context& context, const Args& args) {
  TRY(std::string name, find_job(context, args.operands[0]));
  TRY(api::Job job, context.client.call(routes::kGetJob, context.path(name)));
  bool input = job.spec.stdin_ && !args.has("no-stdin");
  return converse(context, routes::kAttachJob, args, name, {.tty = job.spec.tty, .stdin_ = input});
}

}  // namespace

Command exec_command() {
  const schema::Type& type = schema::describe<api::ExecQuery>();
  return {.name = "exec",
          .operands = "JOB COMMAND [ARG…]",
          .doc = "Runs a program in a job's container and exits with its exit code.",
          .details = "With -it, ctrl-p ctrl-q detaches.",
          .flags = {{"interactive", 'i', "", schema_doc(type, "stdin"), {}},
                    {"tty", 't', "", schema_doc(type, "tty"), {}},
                    {"user", 'u', "USER[:GROUP]", schema_doc(type, "user"), {}},
                    {"workdir", 'w', "FOLDER", schema_doc(type, "workingDir"), {}},
                    {"env", 'e', "NAME[=VALUE]", "Environment variables.", {}, true},
                    {"index", 0, "N", schema_doc(type, "index"), {}},
                    detach_keys_flag()},
          .run = exec,
          .least = 2,
          .most = kAnyNumber,
          .order = Order::kBeforeOperands,
          .completes = "job",
          .failure_exit = kRunFailedExit};
}

Command attach_command() {
  return {.name = "attach",
          .operands = "JOB",
          .doc = "Connects to the input and output of a job's own program.",
          .details =
              "Ctrl-p ctrl-q detaches from a job that was started with -it; what came before "
              "is in 'tessera logs'.",
          .flags = {{"no-stdin", 0, "", "Only watch.", {}}, detach_keys_flag()},
          .run = attach,
          .least = 1,
          .most = 1,
          .completes = "job",
          .failure_exit = kRunFailedExit};
}

}  // namespace tessera::cli
