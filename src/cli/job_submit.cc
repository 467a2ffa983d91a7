// submit: a batch script with #SBATCH lines as a job.

#include <pwd.h>
#include <unistd.h>

#include <ctime>
#include <set>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_exit.h"
#include "cli/job_find.h"
#include "cli/job_watch.h"
#include "cli/paths.h"
#include "cli/slurm/directives.h"
#include "cli/slurm/submission.h"
#include "cli/table.h"

extern char** environ;

namespace tessera::cli {

namespace {

namespace routes = api::routes;

// --- Who submits ---------------------------------------------------------------------------------

slurm::WallTime to_wall(Instant at) {
  std::time_t seconds = at.ms / 1000;
  std::tm wall{};
  ::localtime_r(&seconds, &wall);
  return {wall.tm_year + 1900, wall.tm_mon + 1, wall.tm_mday,
          wall.tm_hour,        wall.tm_min,     wall.tm_sec};
}

Instant from_wall(const slurm::WallTime& wall) {
  std::tm out{};
  out.tm_year = wall.year - 1900;
  out.tm_mon = wall.month - 1;
  out.tm_mday = wall.day;
  out.tm_hour = wall.hour;
  out.tm_min = wall.minute;
  out.tm_sec = wall.second;
  out.tm_isdst = -1;  // as the date has it
  return {int64_t{::mktime(&out)} * 1000};
}

slurm::Submitter submitter() {
  slurm::Submitter out{.uid = ::getuid(),
                       .gid = ::getgid(),
                       .folder = current_folder(),
                       .clock = {.now = wall_now(), .to_wall = to_wall, .from_wall = from_wall}};
  const passwd* entry = ::getpwuid(::getuid());
  out.user = entry ? entry->pw_name : cat(out.uid);
  auto home = client::process_environment()("HOME");
  out.home = home ? *home : entry ? entry->pw_dir : "/";
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  out.host = host;
  for (char** at = environ; *at; ++at) {
    std::string_view entry_text = *at;
    size_t equals = entry_text.find('=');
    if (equals != std::string_view::npos)
      out.environment.emplace_back(entry_text.substr(0, equals), entry_text.substr(equals + 1));
  }
  return out;
}

// --- What is submitted ---------------------------------------------------------------------------

Result<slurm::Source> read_source(const Console& console, const Args& args) {
  if (!args.all("wrap").empty()) {
    if (!args.operands.empty())
      return error(Code::kInvalid, "takes the place of a script, and there is one as well",
                   "--wrap");
    return slurm::wrapped(args.text("wrap"));
  }
  slurm::Source out{.text = {}, .name = "stdin", .arguments = {}};
  bool input = args.operands.empty() || args.operands[0] == "-";
  if (input) {
    TRY(out.text, console.read_input(slurm::kScriptLimit + 1));
  } else {
    TRY(out.text, read_file(args.operands[0], slurm::kScriptLimit + 1));
    out.name = args.operands[0].substr(args.operands[0].find_last_of('/') + 1);
  }
  if (args.operands.size() > 1)
    out.arguments.assign(args.operands.begin() + 1, args.operands.end());
  return out;
}

std::vector<slurm::Option> options_of(const Args& args) {
  std::vector<slurm::Option> out;
  for (const slurm::Directive& row : slurm::directives()) {
    if (args.all(row.name).empty()) continue;
    bool is_switch = row.takes == slurm::Takes::kNone;
    if (!is_switch || args.has(row.name))
      out.push_back({std::string(row.name), is_switch ? "" : args.text(row.name), 0});
  }
  return out;
}

// What the job asks for, for --test-only.
std::string wish_of(const api::Job& job) {
  const api::JobSpec& spec = job.spec;
  std::vector<std::string> out;
  if (spec.array)
    out.push_back(plural(static_cast<int64_t>(api::task_indices(spec).size()), "task"));
  out.push_back(cat(gpus_text(spec) == "-" ? "no" : gpus_text(spec), " GPUs"));
  if (spec.resources.cpus) out.push_back(cat(format_milli(spec.resources.cpus->value), " CPUs"));
  if (spec.resources.memory) out.push_back(format_memory(*spec.resources.memory));
  out.push_back(spec.maxRuntime ? cat("at most ", format_duration(*spec.maxRuntime))
                                : "no time limit");
  return join(out, ", ");
}

// --- Its output, with --wait
// -----------------------------------------------------------------------

// Writes a task's output to the files that its patterns name. A file that several tasks name gets
// the output of all.
class OutputFiles {
 public:
  OutputFiles(Context& context, const slurm::Submission& submission, const api::Job& job)
      : context_(context), submission_(submission), job_(job) {}

  Status write(const api::Task& task, int64_t place) {
    std::string pattern = submission_.output;
    if (pattern.empty()) pattern = slurm::default_output(job_.spec);
    TRY(std::string out, path_of(pattern, task, place));
    if (submission_.error.empty()) return save(out, task, api::LogStream::kAll);
    TRY(std::string err, path_of(submission_.error, task, place));
    if (err == out) return save(out, task, api::LogStream::kAll);
    TRY_STATUS(save(out, task, api::LogStream::kStdout));
    return save(err, task, api::LogStream::kStderr);
  }

 private:
  Result<std::string> path_of(const std::string& pattern, const api::Task& task, int64_t place) {
    auto name = job_.spec.env.find("SLURM_JOB_NAME");
    auto user = job_.spec.env.find("SLURM_JOB_USER");
    TRY(std::string path, slurm::expand_pattern(pattern, {.job_id = cat(job_.status.number + place),
                                                          .array_job_id = cat(job_.status.number),
                                                          .array_index = cat(task.index),
                                                          .node = task.node,
                                                          .name = name->second,
                                                          .user = user->second}));
    return absolute_path(path, current_folder());
  }

  Status save(const std::string& path, const api::Task& task, api::LogStream stream) {
    if (path == "/dev/null") return Ok;
    // The first time it replaces what a job before has left.
    if (written_.insert(path).second && ::unlink(path.c_str()) != 0 && errno != ENOENT)
      return errno_error(cat("replace ", path));
    TRY_STATUS(append_file(path, ""));
    if (task.attempt == 0) return Ok;
    Status saved = Ok;
    auto take = [&](std::string_view chunk) {
      saved = append_file(path, chunk);
      return saved.ok();
    };
    TRY_STATUS(context_.client.text(
        routes::kJobLogs, {{"project", task.project}, {"name", task.job}},
        api::LogQuery{.index = task.index, .attempt = task.attempt, .stream = stream}, take));
    return saved;
  }

  Context& context_;
  const slurm::Submission& submission_;
  const api::Job& job_;
  std::set<std::string> written_;
};

Result<int> wait_for(Context& context, const slurm::Submission& submission, const api::Job& job) {
  const std::string& project = job.metadata.project;
  auto ended = [](const api::Job& now) { return api::is_terminal(now.status.phase); };
  auto away = [&](const Error& why) { context.console.note(why.text()); };
  TRY(api::Job end, wait_until(context.client, project, job.metadata.name, ended, away));
  TRY(auto tasks,
      context.client.call(routes::kListTasks, {{"project", project}, {"name", job.metadata.name}}));
  OutputFiles files(context, submission, end);
  int64_t place = 0;
  for (const api::Task& task : tasks.items) TRY_STATUS(files.write(task, place++));
  std::string ending = ending_of(end);
  if (!ending.empty()) context.console.note(ending);
  return exit_code_of(end);
}

Result<int> submit(Context& context, const Args& args) {
  TRY(slurm::Source source, read_source(context.console, args));
  auto planned = slurm::plan_submission(source, options_of(args), submitter());
  if (!planned.ok()) {
    const Error& mistake = planned.error();
    bool in_script = mistake.field.starts_with("line ");
    return in_script ? client::in_file(mistake, source.name) : mistake;
  }
  slurm::Submission& submission = *planned;
  for (const std::string& note : submission.notes) context.console.note(note);
  if (submission.test_only) {
    context.console.print(
        cat(source.name, " is valid: ", wish_of(submission.job), "; nothing was submitted\n"));
    return 0;
  }
  std::string project = context.settings.project;
  if (args.text("project").empty() && !submission.project.empty()) project = submission.project;
  for (api::Dependency& wanted : submission.job.spec.dependsOn) {
    TRY(wanted.job, find_job(context, project, wanted.job));
  }
  TRY(api::Job job, create_job(context, project, submission.job));
  context.console.print(submission.parsable ? cat(job.status.number, "\n")
                                            : cat("Submitted batch job ", job.status.number, "\n"));
  if (!submission.parsable) context.console.note(cat("its name is ", job.metadata.name));
  return submission.wait ? wait_for(context, submission, job) : Result<int>(0);
}

std::vector<Flag> submit_flags() {
  std::vector<Flag> out;
  for (const slurm::Directive& row : slurm::directives()) {
    out.push_back({.name = std::string(row.name),
                   .letter = row.letter,
                   .value = std::string(row.value),
                   .doc = std::string(row.meaning),
                   .hidden = !row.refusal.empty(),
                   .optional = row.takes == slurm::Takes::kOptional});
  }
  return out;
}

}  // namespace

Command submit_command() {
  return {.name = "submit",
          .operands = "[SCRIPT [ARG…]]",
          .doc = "Submits a batch script with #SBATCH lines, as sbatch does.",
          .details =
              "The script is read from standard input when none is named. Flags go over the "
              "script's lines.\nEvery other option of sbatch is known and refused with the reason; "
              "see docs/submit.md.",
          .flags = submit_flags(),
          .run = submit,
          .most = kAnyNumber,
          .order = Order::kBeforeOperands,
          .completes = "file"};
}

}  // namespace tessera::cli
