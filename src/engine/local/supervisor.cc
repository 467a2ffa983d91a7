#include "engine/local/supervisor.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/local/cgroup.h"
#include "engine/local/shims.h"
#include "engine/local/shm.h"

namespace tessera::local {

namespace {

using What = engine::Observation::What;

// Each may be held up by one hung shim for as long as its deadlines allow.
constexpr int kWorkers = 8;
// After containerd failed a call: it is being restarted, or busy.
constexpr Millis kRetry{2'000};
// A safety net under the events.
constexpr Millis kRelistEvery{60'000};
// From SIGKILL to harder means: the kernel takes a moment to free hundreds of gigabytes.
constexpr Millis kKillLimit{15'000};
// How long end() waits for all of that.
constexpr Millis kEndLimit{50'000};
// Of a container whose code nobody knows any more.
constexpr uint32_t kLostCode = 255;

std::string label(const ContainerRecord& record, std::string_view name) {
  auto found = record.labels.find(std::string(name));
  return found == record.labels.end() ? std::string() : found->second;
}

}  // namespace

Supervisor::Supervisor(Machine& machine, Launcher& launcher, Observe observe)
    : machine_(machine),
      launcher_(launcher),
      observe_(std::move(observe)),
      workers_(kWorkers),
      health_(machine,
              [this](const TaskPtr& task, api::ContainerHealth health, std::string message) {
                observe_({.ref = task->ref,
                          .what = What::kHealth,
                          .message = std::move(message),
                          .at = wall_now(),
                          .ports = {},
                          .health = health});
              }) {}

Supervisor::~Supervisor() {
  events_.reset();  // it gives work to the workers
}

// --- Taking over -------------------------------------------------------------------------------

Status Supervisor::start() {
  TRY(std::set<std::string> live, adopt_all());
  collect();
  collect_files(live);
  TRY_STATUS(machine_.network.start(live));
  events_ = std::make_unique<Subscription>(machine_.client,
                                           [this](const Event& event) { on_event(event); });
  workers_.run([this] { relist_regularly(); }, kRelistEvery);
  return Ok;
}

Result<std::set<std::string>> Supervisor::adopt_all() {
  TRY(auto records, machine_.client.containers());
  TRY(auto infos, machine_.client.tasks());
  std::map<std::string, const TaskInfo*> by_container;
  for (const TaskInfo& info : infos) by_container[info.container] = &info;
  std::set<std::string> live;
  for (const ContainerRecord& record : records) {
    auto found = by_container.find(record.id);
    const TaskInfo* info = found == by_container.end() ? nullptr : found->second;
    if (adopt(record, info)) live.insert(record.id);
  }
  return live;
}

// A container that was to be started when the last server ended is started now.
bool Supervisor::goes_on(const ContainerRecord& record, const TaskInfo* info) {
  if (!info) return false;
  if (info->state == TaskState::kRunning) return true;
  auto resumed = launcher_.resume(record.id);
  return resumed.ok() && *resumed;
}

bool Supervisor::adopt(const ContainerRecord& record, const TaskInfo* info) {
  auto attempt = to_int(label(record, kAttemptLabel));
  std::string id = label(record, kTaskLabel);
  std::string exit = label(record, kExitLabel);
  if (!attempt || id.empty() || (exit.empty() && !goes_on(record, info))) return false;
  TaskPtr task =
      make_task({id, *attempt}, label(record, kProjectLabel), label(record, kStdinLabel) == "open");
  task->step = Step::kRunning;
  task->init = label(record, kInitLabel) == "yes";
  machine_.tasks.put(task);
  if (exit.empty()) {
    task->shm = open_shm(info->pid);
    health_.watch(task, /*adopted=*/true);
    if (info->state == TaskState::kStopped) workers_.run([this, task] { finish(task, {}); });
    return true;
  }
  Exit told{static_cast<uint32_t>(to_int(exit).value_or(kLostCode)),
            Instant{to_int(label(record, kExitTimeLabel)).value_or(0)}};
  if (info) (void)machine_.client.delete_task(record.id);  // the crash came in between
  report_exit(task, told, label(record, kOomLabel) == "true", api::Reason::kNone, {});
  return true;
}

void Supervisor::wipe(const std::string& container, const std::string& project) {
  Status wiped = launcher_.wipe(container, project);
  if (!wiped.ok()) log::warn(cat("something is left of ", container, ": ", wiped.error().text()));
}

// Whatever there is of containers that are none of ours: a start that a crash interrupted, what a
// reboot left, what containerd forgot. list() will not name it. First what there is, then which are
// ours: one that is begun meanwhile is not taken for a stray.
void Supervisor::collect() {
  std::map<std::string, std::string> found;  // container -> its project, where that is known
  for (const std::string& container : machine_.bundles.list()) found[container];
  for (const std::string& container :
       containers_with_cgroup(machine_.cgroup_prefix(), machine_.host.cgroups.v2()))
    found[container];
  auto infos = machine_.client.tasks();
  for (const TaskInfo& info : infos.ok() ? *infos : std::vector<TaskInfo>{}) found[info.container];
  auto records = machine_.client.containers();
  for (const ContainerRecord& record : records.ok() ? *records : std::vector<ContainerRecord>{})
    found[record.id] = label(record, kProjectLabel);
  for (const auto& [container, project] : found)
    if (!machine_.tasks.find_container(container)) wipe(container, project);
}

void Supervisor::collect_files(const std::set<std::string>& live) {
  auto snapshots = machine_.client.snapshots(machine_.options.snapshotter);
  for (const SnapshotInfo& snapshot : snapshots.ok() ? *snapshots : std::vector<SnapshotInfo>{}) {
    auto root = snapshot.labels.find("containerd.io/gc.root");
    bool ours = root != snapshot.labels.end() && root->second == "tessera";
    if (ours && !live.contains(snapshot.name))
      (void)machine_.client.remove_snapshot(machine_.options.snapshotter, snapshot.name);
  }
  std::error_code failure;
  for (const auto& entry :
       std::filesystem::directory_iterator(machine_.folder() + "/state", failure)) {
    std::string container = entry.path().filename();
    if (!live.contains(container)) (void)launcher_.clear_state(container);
  }
}

// --- Events ------------------------------------------------------------------------------------

void Supervisor::on_event(const Event& event) {
  if (event.what == Event::What::kConnected) workers_.run([this] { relist(); });
  if (event.what == Event::What::kDisconnected) log::warn("containerd is away; containers run on");
  if (!event.exec.empty() || event.container.empty()) return;
  TaskPtr task = machine_.tasks.find_container(event.container);
  if (!task) return;
  if (event.what == Event::What::kOutOfMemory)
    machine_.tasks.update([&] { task->oom_seen = true; });
  if (event.what != Event::What::kExited) return;
  bool running = machine_.tasks.update([&] {
    task->exit_seen = true;
    return task->step == Step::kRunning;
  });
  Exit seen{event.exit_code, event.at};
  if (running) workers_.run([this, task, seen] { finish(task, seen); });
}

void Supervisor::relist_regularly() {
  relist();
  workers_.run([this] { relist_regularly(); }, kRelistEvery);
}

void Supervisor::relist() {
  auto infos = machine_.client.tasks();
  if (!infos.ok()) return;  // it is away again, and will be connected again
  std::set<std::string> running;
  for (const TaskInfo& info : *infos)
    if (info.state != TaskState::kStopped) running.insert(info.container);
  for (const TaskPtr& task : machine_.tasks.all())
    if (!running.contains(task->container)) look_at(task);
  collect();
}

// Finishes it if it has ended.
void Supervisor::look_at(const TaskPtr& task) {
  if (machine_.tasks.update([&] { return task->step; }) != Step::kRunning) return;
  auto info = machine_.client.task(task->container);
  bool gone = !info.ok() && info.error().code == Code::kNotFound;
  if (gone || (info.ok() && info->state == TaskState::kStopped)) finish(task, {});
}

void Supervisor::report_started(const TaskPtr& task) {
  observe_({.ref = task->ref,
            .what = What::kStarted,
            .at = task->started,
            .ports = machine_.network.published(task->container)});
  health_.watch(task, /*adopted=*/false);
  bool ended = machine_.tasks.update([&] {
    task->step = Step::kRunning;
    return task->exit_seen;
  });
  if (ended) workers_.run([this, task] { look_at(task); });
  if (machine_.tasks.update([&] { return task->cancelled; })) (void)kill(task, SIGKILL);
}

void Supervisor::report_failed(const TaskPtr& task, const StartFailure& failure) {
  observe_({.ref = task->ref,
            .what = What::kStartFailed,
            .passing = failure.passing,
            .reason = failure.reason,
            .message = failure.error.text(),
            .at = wall_now()});
  mark_failed(task);
}

void Supervisor::mark_failed(const TaskPtr& task) {
  ::eventfd_write(task->over.get(), 1);
  machine_.tasks.update([&] { task->step = Step::kFailed; });
}

// --- Ends --------------------------------------------------------------------------------------

bool Supervisor::claim(const TaskPtr& task) {
  return machine_.tasks.update([&] {
    if (task->step != Step::kRunning) return false;
    task->step = Step::kFinishing;
    return true;
  });
}

void Supervisor::release(const TaskPtr& task) {
  machine_.tasks.update([&] { task->step = Step::kRunning; });
}

Result<Supervisor::Ending> Supervisor::look(const TaskPtr& task) const {
  auto info = machine_.client.task(task->container);
  if (!info.ok() && info.error().code != Code::kNotFound) return std::move(info).error();
  if (info.ok() && info->state != TaskState::kStopped) return Ending{};
  return machine_.tasks.update([&] {
    if (info.ok()) task->told = Exit{info->exit_code, info->exited};
    return Ending{true, task->told};
  });
}

void Supervisor::finish(const TaskPtr& task, std::optional<Exit> seen) {
  // Kept with the task: a look after containerd's restart may come before our own next try.
  machine_.tasks.update([&] {
    if (seen) task->told = seen;
  });
  if (!claim(task)) return;
  auto ending = look(task);
  if (ending.ok() && !ending->ended) return release(task);
  if (ending.ok() && put_away(task, *ending)) return;
  release(task);
  workers_.run([this, task] { finish(task, {}); }, kRetry);
}

// Reports the end once nothing of it runs any more; false when that must be tried again.
bool Supervisor::put_away(const TaskPtr& task, const Ending& ending) {
  Exit exit = ending.exit.value_or(Exit{kLostCode, wall_now()});
  Cgroup cgroup = machine_.cgroup(task->container);
  bool oom = cgroup.was_out_of_memory() || machine_.tasks.update([&] { return task->oom_seen; });
  // First, so that the code outlives what comes next.
  Status kept = machine_.client.set_container_labels(
      task->container, {{std::string(kExitLabel), cat(exit.code)},
                        {std::string(kExitTimeLabel), cat(exit.at.ms)},
                        {std::string(kOomLabel), oom ? "true" : "false"}});
  if (!kept.ok() && kept.error().code != Code::kNotFound) return false;
  auto deleted = machine_.client.delete_task(task->container);
  if (!deleted.ok() && deleted.error().code != Code::kNotFound) {
    log::warn(cat("cannot end ", task->container, " yet: ", deleted.error().text()));
    if (deleted.error().code == Code::kTimeout) kill_shim(task);
    return false;
  }
  if (!cgroup.is_empty()) {
    log::warn(cat("processes of ", task->container, " outlive it, its devices stay taken"));
    cgroup.kill();
    return false;
  }
  if (ending.exit)
    report_exit(task, exit, oom, api::Reason::kNone, describe_full_shm(task->shm, exit.code));
  else
    report_exit(task, exit, oom, api::Reason::kLost, "it is gone, and nothing knows how it ended");
  return true;
}

void Supervisor::report_exit(const TaskPtr& task, const Exit& exit, bool oom, api::Reason reason,
                             std::string message) {
  health_.forget(task);
  ::eventfd_write(task->over.get(), 1);
  observe_({.ref = task->ref,
            .what = What::kExited,
            .exit_code = static_cast<int>(exit.code),
            .oom_killed = oom,
            .reason = reason,
            .message = std::move(message),
            .at = exit.at});
  machine_.tasks.update([&] {
    task->exit_code = static_cast<int>(exit.code);
    task->shm.reset();
    task->step = Step::kExited;
  });
}

// --- Force -------------------------------------------------------------------------------------

Status Supervisor::kill(const TaskPtr& task, int signal) {
  // An init passes it on, and would be a second sender to those that hear it from us.
  bool all = signal == SIGKILL || !task->init;
  Status sent = machine_.client.kill(task->container, {}, signal, all);
  if (sent.ok() || sent.error().code != Code::kNotFound) return sent;
  workers_.run([this, task] { look_at(task); });  // it has just ended, or the event was lost
  return Ok;
}

Status Supervisor::stop(const TaskPtr& task, int signal, Millis grace) {
  bool send = machine_.tasks.update([&] {
    if (task->step == Step::kStarting) task->cancelled = true;
    return task->step == Step::kRunning && task->stop_signal != signal;
  });
  if (signal == SIGKILL) return kill_now(task);
  if (send) {
    Status sent = kill(task, signal);
    // A shim that hangs gets no more than the grace either.
    if (!sent.ok() && sent.error().code != Code::kTimeout) return sent;
    machine_.tasks.update([&] { task->stop_signal = signal; });
  }
  workers_.run([this, task] { escalate(task); }, grace);
  return Ok;
}

Status Supervisor::kill_now(const TaskPtr& task) {
  Status sent = kill(task, SIGKILL);
  bool hangs = !sent.ok() && sent.error().code == Code::kTimeout;
  if (!sent.ok() && !hangs) return sent;
  workers_.run([this, task] { force(task); }, hangs ? Millis{0} : kKillLimit);
  return Ok;
}

void Supervisor::escalate(const TaskPtr& task) {
  if (machine_.tasks.update([&] { return task->ended(); }) || kill_now(task).ok()) return;
  workers_.run([this, task] { escalate(task); }, kRetry);
}

// SIGKILL did not help: the shim may have nothing left to wait for (its first process gone by OOM),
// or hang itself. Without it containerd declares the task dead and cleans up.
void Supervisor::force(const TaskPtr& task) {
  if (machine_.tasks.update([&] { return task->ended(); })) return;
  log::warn(cat(task->container, " does not end; killing its shim"));
  kill_shim(task);
  machine_.cgroup(task->container).kill();
  look_at(task);
  workers_.run([this, task] { force(task); }, kKillLimit);
}

void Supervisor::kill_shim(const TaskPtr& task) const {
  pid_t shim = find_shim(machine_.client.socket(), task->container);
  if (shim > 0) ::kill(shim, SIGKILL);
}

Status Supervisor::end(const TaskPtr& task) {
  Step step = machine_.tasks.update([&] { return task->step; });
  if (step == Step::kStarting) {  // a start that failed and is not tried again
    TRY_STATUS(launcher_.wipe(task->container, task->project));
    mark_failed(task);
  }
  if (machine_.tasks.update([&] { return task->ended(); })) return Ok;
  TRY_STATUS(stop(task, SIGKILL, Millis{0}));
  if (machine_.tasks.wait_ended(task, kEndLimit)) return Ok;
  return error(Code::kTimeout,
               cat("the processes of ", task->container, " do not end, not even by SIGKILL"), {},
               "they hang in the kernel: look at the node's devices and file systems");
}

}  // namespace tessera::local
