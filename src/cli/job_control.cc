// logs, stop, signal, wait.

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_exit.h"
#include "cli/job_find.h"
#include "cli/job_watch.h"
#include "cli/objects.h"
#include "cli/schema_doc.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

Error bad_number(std::string_view flag, std::string_view text) {
  return error(Code::kInvalid, cat(quoted(text), " is not a whole number"), Args::label(flag));
}

Result<api::LogQuery> log_query(const Args& args) {
  api::LogQuery query{.follow = args.has("follow"), .timestamps = args.has("timestamps")};
  if (std::string tail = args.text("tail", "all"); tail != "all") {
    query.tail = to_int(tail);
    if (!query.tail) return bad_number("tail", tail);
  }
  if (std::string since = args.text("since"); !since.empty()) {
    TRY(query.since, parse_duration(since).in("--since"));
  }
  if (std::string index = args.text("index"); !index.empty()) {
    auto number = to_int(index);
    if (!number) return bad_number("index", index);
    query.index = *number;
  }
  std::string stream = args.text("stream", "all");
  for (api::LogStream one : {api::LogStream::kStdout, api::LogStream::kStderr})
    if (enum_names(one)[static_cast<size_t>(one)] == stream) query.stream = one;
  if (std::string attempt = args.text("attempt"); !attempt.empty()) {
    query.attempt = to_int(attempt);
    if (!query.attempt) return bad_number("attempt", attempt);
  }
  return query;
}

Result<int> logs(Context& context, const Args& args) {
  TRY(std::string name, find_job(context, args.operands[0]));
  TRY(api::LogQuery query, log_query(args));
  if (args.has("previous")) {
    TRY(auto tasks, context.client.call(routes::kListTasks, context.path(name)));
    auto task = std::ranges::find_if(tasks.items, [&](const api::Task& one) {
      return !query.index || one.index == *query.index;
    });
    if (task == tasks.items.end())
      return error(Code::kNotFound, cat("job ", name, " has no task ", *query.index), "--index");
    if (task->attempt < 2)
      return error(Code::kNotFound, cat("job ", name, " has had only one attempt"));
    query.attempt = task->attempt - 1;
  }
  TRY_STATUS(context.client.logs(context.path(name), query, [&](int stream, std::string_view text) {
    return context.console.pass_on(stream, text), true;
  }));
  return 0;
}

// Does something to each job, goes on after a failure, and returns the exit code of the last one.
Result<int> for_each_job(Context& context, const Args& args,
                         const std::function<Result<std::string>(const std::string&)>& act) {
  int code = 0;
  for (const std::string& operand : args.operands) {
    TRY(std::string name, find_job(context, operand));
    auto done = act(name);
    if (done.ok()) {
      context.console.print(cat("job/", name, " ", *done, "\n"));
    } else {
      context.console.note(cat("job/", name, ": ", done.error().text()));
      code = info(done.error().code).exit_code;
    }
  }
  return code;
}

Result<int> stop(Context& context, const Args& args) {
  api::StopRequest request{.signal = args.text("signal")};
  if (std::string grace = args.text("time"); !grace.empty()) {
    // docker's bare number of seconds and our durations read the same.
    TRY(request.grace, parse_duration(grace).in("--time"));
  }
  if (std::string index = args.text("index"); !index.empty()) {
    request.index = to_int(index);
    if (!request.index) return bad_number("index", index);
  }
  return for_each_job(context, args, [&](const std::string& name) -> Result<std::string> {
    TRY(api::Job job, context.client.call(routes::kStopJob, context.path(name), {}, request));
    return std::string(api::is_terminal(job.status.phase) ? "stopped" : "stops");
  });
}

Result<int> signal(Context& context, const Args& args) {
  api::SignalRequest request{.signal = args.text("signal", "SIGKILL")};
  return for_each_job(context, args, [&](const std::string& name) -> Result<std::string> {
    TRY(api::Job job, context.client.call(routes::kSignalJob, context.path(name), {}, request));
    return cat("got ", request.signal);
  });
}

Result<int> wait(Context& context, const Args& args) {
  auto ended = [](const api::Job& job) { return api::is_terminal(job.status.phase); };
  auto away = [&](const Error& why) { context.console.note(why.text()); };
  int code = 0;
  for (const std::string& operand : args.operands) {
    TRY(std::string name, find_job(context, operand));
    TRY(api::Job job, wait_until(context.client, context.settings.project, name, ended, away));
    std::string ending = ending_of(job);
    if (!ending.empty()) context.console.note(ending);
    if (code == 0) code = exit_code_of(job);
  }
  return code;
}

}  // namespace

Command logs_command() {
  const schema::Type& type = schema::describe<api::LogQuery>();
  return {
      .name = "logs",
      .operands = "JOB",
      .doc = "Prints the output of a job.",
      .details = "What it wrote to standard error goes there.",
      .flags = {{"follow", 'f', "", schema_doc(type, "follow"), {}},
                {"tail", 'n', "LINES", cat(schema_doc(type, "tail"), " 'all' is the default."), {}},
                {"since", 0, "TIME", schema_doc(type, "since"), {}},
                {"timestamps", 't', "", schema_doc(type, "timestamps"), {}},
                {"index", 0, "N", schema_doc(type, "index"), {}},
                {"attempt", 0, "N", schema_doc(type, "attempt"), {}},
                {"stream", 0, "STREAM", schema_doc(type, "stream"), {"all", "stdout", "stderr"}},
                {"previous", 'p', "", "Of the attempt before the latest.", {}}},
      .run = logs,
      .least = 1,
      .most = 1,
      .completes = "job"};
}

Command stop_command() {
  const schema::Type& type = schema::describe<api::StopRequest>();
  return {
      .name = "stop",
      .operands = "JOB…",
      .doc = std::string(routes::kStopJob.doc),
      .flags =
          {{"time", 't', "TIME", cat(schema_doc(type, "grace"), " A bare number is seconds."), {}},
           {"signal", 's', "SIGNAL", schema_doc(type, "signal"), {}},
           {"index", 0, "N", schema_doc(type, "index"), {}}},
      .run = stop,
      .least = 1,
      .most = kAnyNumber,
      .completes = "job"};
}

Command signal_command() {
  return {.name = "kill",
          .operands = "JOB…",
          .doc = std::string(routes::kSignalJob.doc),
          .details =
              "A job that a signal ends has failed, and is tried again when it has retries "
              "left; 'tessera stop' ends it for good.",
          .flags = {{"signal", 's', "SIGNAL", "Which one; SIGKILL when not given.", {}}},
          .run = signal,
          .least = 1,
          .most = kAnyNumber,
          .completes = "job"};
}

Command wait_command() {
  return {.name = "wait",
          .operands = "JOB…",
          .doc = "Waits until jobs have ended and exits with the first exit code that is not 0.",
          .run = wait,
          .least = 1,
          .most = kAnyNumber,
          .completes = "job"};
}

}  // namespace tessera::cli
