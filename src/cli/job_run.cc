// run: submits a job and, in the foreground, stays with it to its end.

#include <grp.h>
#include <poll.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_exit.h"
#include "cli/job_find.h"
#include "cli/job_watch.h"
#include "cli/log_follow.h"
#include "cli/mailbox.h"
#include "cli/objects.h"
#include "cli/paths.h"
#include "cli/run_flags.h"
#include "cli/session_pump.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

// An environment file is a list of settings, not data.
constexpr size_t kEnvFileLimit = 1 << 20;

RunInputs process_inputs() {
  RunInputs out;
  out.environment = client::process_environment();
  out.read_file = [](const std::string& path) { return read_file(path, kEnvFileLimit); };
  out.folder = current_folder();
  if (::getuid() == 0) return out;
  out.user = cat(::getuid(), ":", ::getgid());
  std::vector<gid_t> groups(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
  int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  for (int i = 0; i < count; ++i) out.groups.push_back(cat(groups[static_cast<size_t>(i)]));
  return out;
}

// Docker's scripts wait for this file, or take it for a sign that the container is theirs.
Status check_cidfile(const std::string& path) {
  if (path.empty() || !exists(path)) return Ok;
  return error(Code::kAlreadyExists, cat(path, " exists already"), Args::label("cidfile"),
               "remove it if no job is known by it");
}

bool fits(const api::AcceleratorStatus& device, const api::AcceleratorSelector& wanted) {
  return device.health == api::Health::kHealthy &&
         (wanted.vendor.empty() || device.vendor == wanted.vendor) &&
         (wanted.model.empty() || contains_ignoring_case(device.model, wanted.model));
}

// --gpus all means, on one machine, all of its devices. On a server: all that one node has; the
// node with the most of those that fit decides the number.
Status resolve_all_gpus(Context& context, api::Job& job) {
  api::AcceleratorSelector wanted =
      job.spec.resources.accelerator.value_or(api::AcceleratorSelector{});
  TRY(Value list, context.client.list_tree(routes::kListAccelerators, {}));
  std::map<std::string, int64_t> by_node;
  for (const Value& item : *list.find("items")->list()) {
    TRY(auto device, schema::decode<api::Accelerator>(item));
    if (fits(device.status, wanted)) ++by_node[device.status.node];
  }
  std::pair<std::string, int64_t> most;
  for (const auto& [node, count] : by_node)
    if (count > most.second) most = {node, count};
  if (most.second == 0)
    return error(Code::kInvalid, "no node has a healthy GPU that fits", Args::label("gpus"),
                 "'tessera get accelerators' lists them");
  job.spec.resources.gpus = MilliGpu{most.second * 1000};
  context.console.note(
      cat("--gpus all is ", plural(most.second, "GPU"), ": all of node ", most.first));
  return Ok;
}

// Stays with a job to its end. Lives on the main thread, which waits for what the threads of the
// watch and of the logs tell, and for signals.
class Foreground {
 public:
  Foreground(Context& context, const RunPlan& plan, api::Job job, Signals& signals)
      : context_(context),
        plan_(plan),
        job_(std::move(job)),
        signals_(signals),
        logs_(context.client, context.console, job_, [this] { mail_.put(LogsDone{}); }) {}
  ~Foreground() { stop_input_.put(0); }

  Result<int> run() {
    JobWatch watch(context_.client, job_.metadata.project, job_.metadata.name,
                   [this](JobUpdate update) { mail_.put(std::move(update)); });
    while (!finished()) {
      pollfd waits[] = {{mail_.fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
      if (::poll(waits, std::size(waits), -1) < 0) continue;
      while (auto number = signals_.take()) take_signal(*number);
      for (auto& mail : mail_.take_all())
        if (auto* update = std::get_if<JobUpdate>(&mail))
          take_update(std::move(*update));
        else
          logs_done_ = true;
    }
    if (left_) return *left_;
    if (failure_) return std::move(*failure_);
    return end_of_job();
  }

 private:
  struct LogsDone {};

  bool finished() const { return left_ || failure_ || (job_over_ && logs_done_); }

  void take_update(JobUpdate update) {
    switch (update.what) {
      case JobUpdate::What::kAway:
        context_.console.note(cat("the server is away (", update.failure.text(), "); job ",
                                  job_.metadata.name, " goes on without it"));
        return;
      case JobUpdate::What::kFailed:
        failure_ = update.failure;
        return;
      case JobUpdate::What::kDeleted:
        deleted_ = job_over_ = true;
        logs_.end();
        return;
      case JobUpdate::What::kState:
        break;
    }
    job_ = std::move(update.job);
    job_over_ = api::is_terminal(job_.status.phase);
    logs_.update(job_, update.reconnected);
    tell_standing();
    if (job_.status.phase == api::Phase::kRunning) connect();
  }

  // Says why it waits, whenever that changes; and once that it does not wait any more.
  void tell_standing() {
    if (plan_.quiet || job_over_) return;
    bool waits = job_.status.phase == api::Phase::kQueued;
    bool reason = job_.status.waiting || !job_.status.message.empty();
    if (waits ? !reason : told_.empty()) return;
    std::string standing = standing_of(job_);
    if (standing != told_) context_.console.note(cat("job ", job_.metadata.name, " ", standing));
    told_ = waits ? standing : "";
  }

  // With -i: joins the program's input once it runs. All output comes from the log, whole and in
  // order: an attached session would miss what was printed before it, such as the first prompt.
  void connect() {
    if (!plan_.job.spec.stdin_ || input_.joinable() || session_over_) return;
    api::ExecQuery query{.tty = job_.spec.tty, .stdin_ = true};
    auto session =
        context_.client.open(routes::kAttachJob, context_.path(job_.metadata.name), query);
    if (!session.ok()) {
      // It ended or was lost between the update and now: the next update says which.
      if (session.error().code != Code::kConflict) context_.console.note(session.error().text());
      return;
    }
    PumpOptions options{.input = true,
                        .output = false,
                        .tty = plan_.job.spec.tty,
                        .detach_keys = plan_.detach_keys};
    if (options.tty) {
      options.signals = &signals_;
      return take_session_end(pump(**session, context_.console, options));
    }
    options.stop_fd = stop_input_.fd();
    input_ = std::jthread([this, options, session = std::move(*session)] {
      pump(*session, context_.console, options);
    });
  }

  void take_session_end(PumpEnd end) {
    session_over_ = end.status.has_value();
    if (end.detached) {
      context_.console.note(cat("detached; job ", job_.metadata.name,
                                " goes on, and 'tessera attach ", job_.metadata.name,
                                "' comes back to it"));
      left_ = 0;
    }
    if (end.signal) take_signal(*end.signal);
    if (!end.broken.empty()) context_.console.note(cat("the session broke off: ", end.broken));
  }

  // The first one stops the job in order; the next one leaves it. A terminal that goes away takes
  // nothing with it: jobs outlive a logout.
  void take_signal(int number) {
    if (number == SIGWINCH) return;
    const std::string& name = job_.metadata.name;
    if (number == SIGHUP || stopped_by_) {
      context_.console.note(cat("left job ", name, stopped_by_ ? ", which is still stopping" : "",
                                "; 'tessera logs ", name, "' shows its output"));
      left_ = 128 + number;
      return;
    }
    stopped_by_ = number;
    std::string signal = job_.spec.stopSignal;
    if (signal.empty()) signal = number == SIGINT ? "SIGINT" : "SIGTERM";
    context_.console.note(cat("stopping job ", name, ": ", signal, " now, SIGKILL after ",
                              format_duration(job_.spec.stopGrace),
                              "; Ctrl-C again leaves it alone"));
    auto stopped =
        context_.client.call(routes::kStopJob, context_.path(name), {}, {.signal = signal});
    if (!stopped.ok()) context_.console.note(cat("cannot stop it: ", stopped.error().text()));
  }

  Result<int> end_of_job() {
    if (deleted_ && !api::is_terminal(job_.status.phase))
      return error(Code::kConflict, cat("job ", job_.metadata.name, " was deleted"));
    std::string ending = ending_of(job_);
    if (!ending.empty()) context_.console.note(ending);
    if (plan_.remove && !deleted_) {
      auto removed = context_.client.call(routes::kDeleteJob, context_.path(job_.metadata.name));
      // The server removes it by itself in a minute (spec.removeAfter).
      if (!removed.ok() && removed.error().code != Code::kNotFound)
        context_.console.note(cat("cannot remove the job yet: ", removed.error().text()));
    }
    if (stopped_by_ && !job_.status.exitCode) return 128 + *stopped_by_;
    return exit_code_of(job_);
  }

  Context& context_;
  const RunPlan& plan_;
  api::Job job_;
  Signals& signals_;
  Mailbox<std::variant<JobUpdate, LogsDone>> mail_;
  Mailbox<int> stop_input_;
  LogFollow logs_;
  std::string told_;
  bool job_over_ = false, logs_done_ = false, deleted_ = false;
  bool session_over_ = false;      // the terminal's program has ended
  std::optional<int> stopped_by_;  // the signal
  std::optional<int> left_;        // exit code of leaving the job to itself
  std::optional<Error> failure_;
  std::jthread input_;
};

Result<int> run(Context& context, const Args& args) {
  TRY(RunPlan plan, plan_run(args, process_inputs()));
  for (const std::string& note : plan.notes) context.console.note(note);
  bool session = plan.job.spec.tty && plan.job.spec.stdin_ && !plan.detach;
  if (session && !context.console.in_is_terminal())
    return error(Code::kInvalid, "the input is not a terminal", Args::label("tty"),
                 "leave out -t to send it a file or a pipe");
  TRY_STATUS(check_cidfile(plan.cidfile));
  if (plan.all_gpus) TRY_STATUS(resolve_all_gpus(context, plan.job));
  // From here on, so that a Ctrl-C never leaves a job behind that nobody was told about.
  std::optional<Signals> signals;
  if (!plan.detach) signals.emplace(std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP, SIGWINCH});
  auto job = create_job(context, context.settings.project, plan.job);
  if (!job.ok()) return std::move(job).error();
  if (!plan.cidfile.empty())
    if (Status written = write_file(plan.cidfile, job->metadata.name); !written.ok())
      context.console.note(cat("job ", job->metadata.name, ": ", written.error().text()));
  if (plan.detach) {
    context.console.print(cat(job->metadata.name, "\n"));
    return 0;
  }
  return Foreground(context, plan, std::move(*job), *signals).run();
}

}  // namespace

Command run_command() {
  return {
      .name = "run",
      .operands = "IMAGE [COMMAND] [ARG…]",
      .doc = "Runs a program in a container when its turn comes, with docker's flags.",
      .details =
          "In the foreground it says why the job waits, shows its output and exits with its exit "
          "code:\n125 when Tessera could not run it, 126 or 127 when the command could not be "
          "started.\nCtrl-C stops the job in order; a second one leaves it to itself. With -it, "
          "ctrl-p ctrl-q detaches.\nNo --gpus means no GPU, whatever the image says. --gpus all "
          "is as many as the largest node has.",
      .flags = run_flags(),
      .run = run,
      .least = 0,  // plan_run asks for the image, with docker's exit code
      .most = kAnyNumber,
      .order = Order::kBeforeOperands,
      .completes = "image",
      .failure_exit = kRunFailedExit};
}

}  // namespace tessera::cli
