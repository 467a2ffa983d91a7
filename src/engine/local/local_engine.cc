#include "engine/local/local_engine.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "engine/local/builds.h"
#include "engine/local/cgroup.h"
#include "engine/local/launcher.h"
#include "engine/local/log/log_writer.h"
#include "engine/local/log_reader.h"
#include "engine/local/machine.h"
#include "engine/local/sessions.h"
#include "engine/local/signals.h"
#include "engine/local/supervisor.h"

namespace tessera::local {

namespace {

using engine::ImageSummary;
using engine::Launch;
using engine::LogQuery;

ImageSummary summary(const Image& image) {
  return {.reference = api::familiar_name(image.name),
          .digest = image.digest,
          .size_bytes = image.size_bytes,
          .created = image.config.created,
          .last_used = image.last_used};
}

std::vector<ImageSummary> summaries(const std::vector<Image>& images) {
  std::vector<ImageSummary> out;
  for (const Image& image : images) out.push_back(summary(image));
  return out;
}

// One line whenever the phase changes or another tenth is done.
ImageProgressSink lines(const engine::Progress& progress) {
  if (!progress) return {};
  auto last = std::make_shared<std::string>();
  return [progress, last](const ImageProgress& now) {
    std::string line(text(now.phase));
    if (now.total > 0)
      line += cat(" ", now.done * 10 / now.total * 10, "% of ",
                  format_memory(MiB{(now.total >> 20) + 1}));
    if (line != *last) progress(line);
    *last = line;
  };
}

std::string first_line(const std::vector<std::string>& argv) {
  auto ran = run_program({.argv = argv});
  return ran.ok() ? std::string(trim(split(ran->out, '\n')[0])) : std::string();
}

class LocalEngine final : public engine::Engine {
 public:
  explicit LocalEngine(LocalOptions options)
      : machine_(std::move(options)),
        launcher_(machine_),
        builds_(machine_),
        stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~LocalEngine() override {
    machine_.images.stop();
    ::eventfd_write(stop_.get(), 1);
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return readers_ == 0; });
  }

  Status start(std::function<void(engine::Observation)> observe) override;
  Result<api::Node> node() override;
  Result<std::vector<engine::Running>> list() override;
  std::optional<TaskRef> owner(int64_t pid) override;

  Status ensure(const Launch& launch, const std::stop_token& given_up) override;
  Status stop(const TaskRef& ref, std::string_view signal, Millis grace) override;
  Status signal(const TaskRef& ref, std::string_view signal, engine::Whom whom) override;
  Status remove(const TaskRef& ref) override;
  Status remove_logs(const std::string& task) override;

  Status read_log(const LogQuery& query, const engine::LogSink& sink) override;
  Result<std::unique_ptr<engine::Session>> exec(const engine::ExecRequest& request,
                                                engine::SessionEvents events) override;
  Result<std::unique_ptr<engine::Session>> attach(const TaskRef& ref,
                                                  engine::SessionEvents events) override;
  Result<std::unique_ptr<engine::Session>> copy(const TaskRef& ref, const std::string& path,
                                                bool into, engine::SessionEvents events) override;
  Result<std::unique_ptr<engine::Session>> connect(const TaskRef& ref, int port,
                                                   engine::SessionEvents events) override;

  Result<std::vector<ImageSummary>> images() override;
  Result<std::vector<ImageSummary>> import_image(const std::string& path,
                                                 const std::string& reference,
                                                 const engine::Progress& progress) override;
  Result<ImageSummary> pull_image(const std::string& reference,
                                  const engine::Credentials& credentials,
                                  const engine::Progress& progress) override;
  Result<std::unique_ptr<engine::Session>> build_image(const engine::BuildOrder& order,
                                                       engine::SessionEvents events) override {
    return builds_.begin(order, std::move(events));
  }
  Result<api::ImageDetails> inspect_image(const std::string& reference) override {
    return machine_.images.inspect(reference);
  }
  Status remove_image(const std::string& reference) override {
    return machine_.images.remove(reference);
  }
  Result<engine::Pruned> prune_images(const engine::PruneOrder& order) override;
  void needed_images(std::function<std::vector<std::string>()> needed) override {
    machine_.images.needed_by(std::move(needed));
  }

 private:
  bool is_running(const TaskPtr& task) {
    return machine_.tasks.update([&] { return task->step == Step::kRunning; });
  }
  Result<TaskPtr> running(const TaskRef& ref);
  Status remove_container(const TaskPtr& task);
  std::string own_stop_signal(const Task& task) const;

  Machine machine_;
  Launcher launcher_;
  Builds builds_;
  std::string runc_version_;
  const Fd stop_;  // readable once the engine is being destroyed
  std::mutex mutex_;
  std::condition_variable idle_;
  int readers_ = 0;                         // of logs, under mutex_
  std::unique_ptr<Supervisor> supervisor_;  // last: it calls the server until it is destroyed
};

Status LocalEngine::start(std::function<void(engine::Observation)> observe) {
  if (!exists(machine_.options.log_writer))
    return error(Code::kNotFound, cat("there is no ", machine_.options.log_writer), {},
                 "it writes the containers' logs and belongs beside the tessera program");
  for (const char* name : {"/logs", "/state", "/net", "/images"})
    TRY_STATUS(make_directories(machine_.folder() + name, 0711));
  TRY_STATUS(make_directories(machine_.options.run_folder, 0711));
  machine_.host = find_host_limits(machine_.options.runc);
  runc_version_ = first_line({machine_.options.runc, "--version"});
  TRY_STATUS(machine_.daemon.start());
  TRY_STATUS(machine_.client.create_namespace(kNamespace));
  builds_.start();
  supervisor_ = std::make_unique<Supervisor>(machine_, launcher_, std::move(observe));
  return supervisor_->start();
}

Result<api::Node> LocalEngine::node() {
  api::Node node = describe_host(machine_.options.node_name);
  auto version = machine_.client.version();
  node.status.ready = version.ok();
  node.status.message = version.ok() ? machine_.network.describe() : version.error().text();
  node.status.engine = cat("containerd ", version.ok() ? *version : "(away)", ", ", runc_version_,
                           ", ", to_text(machine_.host.cgroups.driver));
  return node;
}

std::optional<TaskRef> LocalEngine::owner(int64_t pid) {
  auto text = read_file(cat("/proc/", pid, "/cgroup"));
  if (!text.ok()) return std::nullopt;  // it is gone
  TaskPtr task = machine_.tasks.find_container(container_in(*text, machine_.cgroup_prefix()));
  if (!task) return std::nullopt;
  return task->ref;
}

Result<std::vector<engine::Running>> LocalEngine::list() {
  std::vector<engine::Running> out;
  for (const TaskPtr& task : machine_.tasks.all()) {
    Step step = machine_.tasks.update([&] { return task->step; });
    if (step == Step::kFailed) continue;
    out.push_back(
        {task->ref, step != Step::kStarting, machine_.network.published(task->container)});
  }
  return out;
}

Status LocalEngine::ensure(const Launch& launch, const std::stop_token& given_up) {
  TRY_STATUS(machine_.tasks.check_attempt(launch.ref));
  TaskPtr task = machine_.tasks.find(launch.ref.task);
  if (task && task->ref != launch.ref) {
    TRY_STATUS(remove_container(task));
    task = nullptr;
  }
  // Nobody else starts it meanwhile: one that is still to be started could not be, the last time.
  if (task && machine_.tasks.update([&] { return task->step; }) != Step::kStarting) return Ok;
  if (!task) {
    // Before anything else, so that a follower of the log finds it.
    TRY_STATUS(prepare_log_folder(machine_.log_folder(launch.ref)));
    task = make_task(launch.ref, launch.project, launch.stdin_open);
    task->init = launch.init;
    machine_.tasks.put(task);
  }
  auto failure = launcher_.launch(launch, task, given_up);
  if (!failure) {
    supervisor_->report_started(task);
    return Ok;
  }
  if (is_away(*failure)) return failure->error;
  supervisor_->report_failed(task, *failure);
  return Ok;
}

Status LocalEngine::stop(const TaskRef& ref, std::string_view signal, Millis grace) {
  TRY_STATUS(machine_.tasks.check_attempt(ref));
  TaskPtr task = machine_.tasks.find(ref.task);
  if (!task || task->ref != ref) return Ok;
  TRY(int number, parse_signal(signal.empty() ? own_stop_signal(*task) : std::string(signal)));
  return supervisor_->stop(task, number, grace);
}

// What the launch or its image names; while there is no container yet, any signal ends it.
std::string LocalEngine::own_stop_signal(const Task& task) const {
  auto record = machine_.client.container(task.container);
  std::string named;
  if (record.ok()) {
    auto label = record->labels.find(std::string(kStopSignalLabel));
    if (label != record->labels.end()) named = label->second;
  }
  // An image may name what is no signal; a stop must work all the same.
  return parse_signal(named).ok() ? named : "SIGTERM";
}

Status LocalEngine::signal(const TaskRef& ref, std::string_view signal, engine::Whom whom) {
  TRY_STATUS(machine_.tasks.check_attempt(ref));
  TRY(int number, parse_signal(signal));
  TaskPtr task = machine_.tasks.find(ref.task);
  if (!task || task->ref != ref || !is_running(task))
    return error(Code::kNotFound, cat("task ", ref.task, " does not run"));
  bool all = whom == engine::Whom::kAll && !task->init;  // an init passes it on itself
  return machine_.client.kill(task->container, {}, number, all);
}

Status LocalEngine::remove_container(const TaskPtr& task) {
  TRY_STATUS(supervisor_->end(task));
  launcher_.note_image_use(*task);
  TRY_STATUS(launcher_.clear(task->container, task->project));
  machine_.tasks.erase(task);
  return Ok;
}

Status LocalEngine::remove(const TaskRef& ref) {
  TRY_STATUS(machine_.tasks.check_attempt(ref));
  TaskPtr task = machine_.tasks.find(ref.task);
  return task ? remove_container(task) : Status(Ok);
}

Status LocalEngine::remove_logs(const std::string& task) {
  std::string folder = machine_.task_log_folder(task);
  std::error_code failure;
  std::filesystem::remove_all(folder, failure);
  if (failure) return error(Code::kInternal, cat("remove ", folder, ": ", failure.message()));
  machine_.tasks.forget(task);
  return Ok;
}

Status LocalEngine::read_log(const LogQuery& query, const engine::LogSink& sink) {
  TaskPtr task = machine_.tasks.find(query.ref.task);
  if (task && task->ref != query.ref) task = nullptr;
  {
    std::lock_guard lock(mutex_);
    ++readers_;
  }
  Status status =
      read_log_folder(machine_.log_folder(query.ref), query,
                      {.over = task ? task->over.get() : -1, .stop = stop_.get()}, sink);
  std::lock_guard lock(mutex_);
  --readers_;
  idle_.notify_all();
  return status;
}

Result<TaskPtr> LocalEngine::running(const TaskRef& ref) {
  TaskPtr task = machine_.tasks.find(ref.task);
  if (!task || task->ref != ref || !is_running(task))
    return error(Code::kConflict, cat("the container of task ", ref.task, " does not run"));
  return task;
}

Result<std::unique_ptr<engine::Session>> LocalEngine::copy(const TaskRef& ref,
                                                           const std::string& path, bool into,
                                                           engine::SessionEvents events) {
  TRY(TaskPtr task, running(ref));
  return start_copy(machine_, task, path, into, std::move(events));
}

Result<std::unique_ptr<engine::Session>> LocalEngine::connect(const TaskRef& ref, int port,
                                                              engine::SessionEvents events) {
  TRY(TaskPtr task, running(ref));
  return start_port_session(machine_, task, port, std::move(events));
}

Result<std::unique_ptr<engine::Session>> LocalEngine::exec(const engine::ExecRequest& request,
                                                           engine::SessionEvents events) {
  TaskPtr task = machine_.tasks.find(request.task);
  if (!task) return error(Code::kNotFound, cat("there is no container of task ", request.task));
  if (!is_running(task))
    return error(Code::kConflict, cat("the container of task ", request.task, " does not run"));
  return start_exec(machine_, task, request, std::move(events));
}

Result<std::unique_ptr<engine::Session>> LocalEngine::attach(const TaskRef& ref,
                                                             engine::SessionEvents events) {
  TaskPtr task = machine_.tasks.find(ref.task);
  if (!task || task->ref != ref)
    return error(Code::kNotFound,
                 cat("there is no container of attempt ", ref.attempt, " of task ", ref.task));
  return start_attach(machine_, task, std::move(events));
}

Result<std::vector<ImageSummary>> LocalEngine::images() {
  TRY(auto all, machine_.images.list());
  return summaries(all);
}

Result<engine::Pruned> LocalEngine::prune_images(const engine::PruneOrder& order) {
  std::optional<Instant> since;
  if (order.unused_for.value > 0) since = wall_now() + order.unused_for * -1;
  TRY(Pruned pruned, machine_.images.prune(since, order.dry_run));
  return engine::Pruned{summaries(pruned.images), pruned.freed_bytes};
}

Result<std::vector<ImageSummary>> LocalEngine::import_image(const std::string& path,
                                                            const std::string& reference,
                                                            const engine::Progress& progress) {
  TRY(auto imported, machine_.images.import(path, reference, lines(progress)));
  return summaries(imported);
}

Result<ImageSummary> LocalEngine::pull_image(const std::string& reference,
                                             const engine::Credentials& credentials,
                                             const engine::Progress& progress) {
  TRY(Image image, machine_.images.pull(
                       reference, {credentials.user, credentials.password, credentials.auth_json},
                       lines(progress)));
  return summary(image);
}

}  // namespace

std::unique_ptr<engine::Engine> make_local_engine(LocalOptions options) {
  return std::make_unique<LocalEngine>(std::move(options));
}

}  // namespace tessera::local
