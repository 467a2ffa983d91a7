#include "engine/local/launcher.h"

#include <poll.h>

#include <csignal>
#include <filesystem>
#include <future>
#include <thread>

#include "accel/cdi.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/local/log/log_writer.h"
#include "engine/local/pipes.h"
#include "engine/local/rootfs.h"
#include "engine/local/runc_text.h"
#include "wire/json.h"

namespace tessera::local {

namespace {

using engine::Launch;

// Images in use on one machine are tens; this only bounds a server that runs for years.
constexpr size_t kUserFilesLimit = 512;
// How long a start that nobody waits for any more may go on: longer than a busy machine takes.
constexpr Millis kCreationLimit{5'000};
constexpr int kCreationPollMs = 20;

std::optional<StartFailure> failed(api::Reason reason, Error error) {
  return StartFailure{reason, std::move(error)};
}
std::optional<StartFailure> failed(Error error) {
  return StartFailure{api::Reason::kStartFailed, std::move(error)};
}

}  // namespace

std::optional<StartFailure> Launcher::launch(const Launch& launch, const TaskPtr& task) {
  if (exists(machine_.state_folder(task->container))) {  // a try that containerd's end cut off
    auto runs = resume(task->container);
    if (!runs.ok()) return failed(runs.error());
    if (*runs) {
      // Its end may have been told while it was not known to run.
      machine_.tasks.update([&] { task->exit_seen = true; });
      return std::nullopt;
    }
    if (Status wiped = start_anew(launch, *task); !wiped.ok()) return failed(wiped.error());
  }
  auto failure = start(launch, task);
  // Left by one that could not clear up after itself.
  if (failure && failure->error.code == Code::kAlreadyExists && start_anew(launch, *task).ok())
    failure = start(launch, task);
  if (!failure || is_away(*failure)) return failure;
  Status wiped = wipe(task->container, task->project);
  if (!wiped.ok())
    log::warn(cat("something is left of ", task->container, ": ", wiped.error().text()));
  return failure;
}

// As if it had not been tried: what went wrong so far is none of the log's business either.
Status Launcher::start_anew(const Launch& launch, const Task& task) {
  TRY_STATUS(wipe(task.container, task.project));
  return prepare_log_folder(machine_.log_folder(launch.ref));
}

std::optional<StartFailure> Launcher::start(const Launch& launch, const TaskPtr& task) {
  const std::string& container = task->container;
  Image image;
  if (auto failure = find_image(launch, image)) return failure;
  auto edits = find_devices(launch);
  if (!edits.ok()) return failed(api::Reason::kAcceleratorFault, edits.error());
  if (machine_.tasks.update([&] { return task->cancelled; }))
    return failed(api::Reason::kCancelled, error(Code::kConflict, "stopped before it started"));

  // The snapshot is containerd's work, the rest ours: both at once.
  auto snapshot = std::async(std::launch::async, [&] {
    return machine_.client.prepare_snapshot(machine_.options.snapshotter, container, image.chain_id,
                                            {{"containerd.io/gc.root", "tessera"}});
  });
  std::string host_name = make_host_name(launch.job, launch.index);
  std::string state = machine_.state_folder(container);
  Status prepared = write_etc(container, host_name);
  if (prepared.ok()) prepared = introductions_.write_hostfile(launch, container);
  if (prepared.ok()) prepared = machine_.network.create_namespace(task->project, container);
  auto volumes = pin_volumes(launch.volumes, launch.host_paths, state + "/volumes");
  auto rootfs = snapshot.get();
  if (!prepared.ok()) return failed(prepared.error());
  if (!volumes.ok()) return failed(volumes.error());
  if (!rootfs.ok()) return failed(rootfs.error());

  auto files = user_files(image, *rootfs);
  if (!files.ok()) return failed(files.error());
  auto user = resolve_user(launch.user.empty() ? image.config.user : launch.user, *files);
  if (!user.ok()) return failed(user.error());
  auto spec = make_spec({.launch = launch,
                         .image = image.config,
                         .user = *user,
                         .edits = *edits,
                         .volumes = volumes->bound(),
                         .host_name = host_name,
                         .netns_path = machine_.network.netns_path(container),
                         .cgroups_path = machine_.cgroups_path(container),
                         .etc_folder = state,
                         .host = machine_.host});
  if (!spec.ok()) return failed(spec.error());
  Status recorded = make_record(launch, image, *spec, container);
  if (!recorded.ok()) return failed(recorded.error());
  Status running = run(launch, task, *rootfs, host_name);
  if (running.ok()) return std::nullopt;
  Error why = running.error();
  why.message = plain_reason(why.message);
  return failed(std::move(why));
}

std::optional<StartFailure> Launcher::find_image(const Launch& launch, Image& image) {
  Result<Image> found = error(Code::kNotFound, "not looked for");
  if (launch.pull_policy != api::PullPolicy::kAlways) {
    found = machine_.images.resolve(launch.image);
    // A containerd that is just away is no fault of the image.
    if (!found.ok() && found.error().code == Code::kUnavailable) return failed(found.error());
  }
  bool missing = !found.ok() && found.error().code == Code::kNotFound;
  if (missing && launch.pull_policy != api::PullPolicy::kNever)
    found = machine_.images.pull(launch.image, {});
  if (!found.ok()) return failed(api::Reason::kImagePull, found.error());
  image = *std::move(found);
  return std::nullopt;
}

Result<accel::cdi::ContainerEdits> Launcher::find_devices(const Launch& launch) const {
  if (launch.accelerators.empty()) return accel::cdi::ContainerEdits{};
  std::vector<std::string> names;
  for (const api::Accelerator& accelerator : launch.accelerators) {
    if (accelerator.status.cdiDevice.empty())
      return error(Code::kUnavailable,
                   cat("device ", accelerator.metadata.name, " has no CDI name"), {},
                   "its vendor's toolkit has not described it yet: see tessera doctor");
    names.push_back(accelerator.status.cdiDevice);
  }
  return accel::cdi::Registry::load(accel::cdi::folders(machine_.options.cdi_folders))
      .resolve(names);
}

Result<UserFiles> Launcher::user_files(const Image& image, const std::vector<Mount>& rootfs) {
  {
    std::lock_guard lock(mutex_);
    auto known = user_files_.find(image.chain_id);
    if (known != user_files_.end()) return known->second;
  }
  UserFiles files;
  TRY_STATUS(with_rootfs(rootfs, [&](const std::string& root) { files = read_user_files(root); }));
  std::lock_guard lock(mutex_);
  if (user_files_.size() >= kUserFilesLimit) user_files_.clear();
  user_files_[image.chain_id] = files;
  return files;
}

// The hosts file gets the container's address once it has one: what is mounted is this very file.
Status Launcher::write_etc(const std::string& container, const std::string& host_name) const {
  std::string folder = machine_.state_folder(container);
  TRY_STATUS(make_directories(folder, 0711));
  TRY_STATUS(append_file(folder + "/hosts",
                         "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"));
  TRY_STATUS(append_file(folder + "/hostname", host_name + "\n"));
  return append_file(folder + "/resolv.conf", resolver_file(machine_.options.name_servers));
}

Status Launcher::make_record(const Launch& launch, const Image& image, const Value& spec,
                             const std::string& container) const {
  std::string stop_signal =
      launch.stop_signal.empty() ? image.config.stop_signal : launch.stop_signal;
  return machine_.client.create_container(
      {.id = container,
       .image = image.name,
       .labels = {{std::string(kTaskLabel), launch.ref.task},
                  {std::string(kAttemptLabel), cat(launch.ref.attempt)},
                  {std::string(kProjectLabel), launch.project},
                  {std::string(kJobLabel), launch.job},
                  {std::string(kStopSignalLabel), stop_signal},
                  {std::string(kStdinLabel), launch.stdin_open ? "open" : "none"}},
       .runc = machine_.runc(),
       .spec_json = wire::to_json(spec),
       .snapshotter = machine_.options.snapshotter,
       .snapshot_key = container});
}

// The shim starts the log's writer itself, except where it also has input to pass on and no
// terminal to do it with.
Result<Stdio> Launcher::make_stdio(const Launch& launch, const std::string& container) const {
  const std::string& program = machine_.options.log_writer;
  const LogLimits& limits = machine_.options.log_limits;
  std::string folder = machine_.log_folder(launch.ref);
  std::string uri = log_writer_uri(program, folder, limits);
  Stdio stdio{.out = uri, .err = launch.tty ? "" : uri, .terminal = launch.tty};
  if (!launch.stdin_open) return stdio;
  stdio.in = machine_.stdin_path(container);
  TRY_STATUS(make_fifo(stdio.in));
  if (launch.tty) return stdio;
  stdio.out = machine_.output_path(container, "stdout");
  stdio.err = machine_.output_path(container, "stderr");
  for (const std::string& path : {stdio.out, stdio.err}) TRY_STATUS(make_fifo(path));
  TRY_STATUS(start_log_writer(program, folder, limits, stdio.out, stdio.err));
  return stdio;
}

// runc prepares the container while the network's plugin connects its namespace.
Status Launcher::run(const Launch& launch, const TaskPtr& task, const std::vector<Mount>& rootfs,
                     const std::string& host_name) {
  const std::string& container = task->container;
  auto network = std::async(std::launch::async,
                            [&] { return machine_.network.attach(task->project, container); });
  auto stdio = make_stdio(launch, container);
  if (!stdio.ok()) {
    network.wait();
    return std::move(stdio).error();
  }
  auto created = machine_.client.create_task(container, rootfs, *stdio, machine_.runc());
  auto address = network.get();
  if (!created.ok()) return std::move(created).error();
  if (!address.ok()) return std::move(address).error();
  TRY_STATUS(introductions_.introduce(launch, container, *address, host_name));
  machine_.tasks.update([&] { task->started = wall_now(); });  // before it can end
  TRY_STATUS(append_file(ready_path(container), ""));
  auto started = machine_.client.start(container);
  if (!started.ok()) return std::move(started).error();
  machine_.network.top_up(task->project);
  return Ok;
}

Status Launcher::clear(const std::string& container, const std::string& project) {
  // All are tried, whatever becomes of the others; the first failure is told.
  Status first = Ok;
  auto note = [&](Status status) {
    bool gone = !status.ok() && status.error().code == Code::kNotFound;
    if (!status.ok() && !gone && first.ok()) first = std::move(status);
  };
  note(machine_.network.detach(project, container));
  note(machine_.client.delete_container(container));
  note(machine_.client.remove_snapshot(machine_.options.snapshotter, container));
  note(clear_state(container));
  // A containerd that was killed in the middle of a deletion has forgotten it.
  if (machine_.bundles.has(container))
    note(machine_.bundles.clear(container, machine_.cgroup(container)));
  machine_.bundles.remove_socket(container);
  return first;
}

// There once all is prepared and only the start itself is left. Not synced: a crash of the machine
// takes the container along.
std::string Launcher::ready_path(const std::string& container) const {
  return machine_.state_folder(container) + "/ready";
}

Result<bool> Launcher::resume(const std::string& container) {
  auto state = [&]() -> Result<TaskState> {
    auto info = machine_.client.task(container);
    if (info.ok()) return info->state;
    if (info.error().code == Code::kNotFound) return TaskState::kUnknown;
    return std::move(info).error();
  };
  TRY(TaskState before, state());
  if (before == TaskState::kUnknown) return false;
  // Stopped without having been started: what was to become the program died with containerd.
  bool may_have_run = before != TaskState::kCreated && before != TaskState::kStopped;
  if (!may_have_run && !exists(ready_path(container))) return false;
  if (before != TaskState::kCreated) return true;
  auto started = machine_.client.start(container);
  if (started.ok()) return true;
  // The start that was cut off may have gone through meanwhile.
  TRY(TaskState after, state());
  return after != TaskState::kUnknown && after != TaskState::kCreated;
}

Status Launcher::wipe(const std::string& container, const std::string& project) {
  Status ended = end_task(container);
  Status cleared = clear(container, project);
  return ended.ok() ? cleared : ended;
}

// Also of a task that containerd is still making, for a server that is no more, and of one that it
// has forgotten.
Status Launcher::end_task(const std::string& container) {
  int64_t limit = monotonic_ns() + kCreationLimit.value * 1'000'000;
  while (true) {
    (void)machine_.client.kill(container, {}, SIGKILL, /*all=*/true);
    auto deleted = machine_.client.delete_task(container);
    bool gone = !deleted.ok() && deleted.error().code == Code::kNotFound;
    if ((deleted.ok() || gone) && !machine_.bundles.has(container)) return Ok;
    bool late = monotonic_ns() > limit;
    if (gone && (late || machine_.bundles.is_stale(container)))
      return machine_.bundles.clear(container, machine_.cgroup(container));
    // A conflict: SIGKILL is on its way.
    if (!deleted.ok() && !gone && (late || deleted.error().code != Code::kConflict))
      return std::move(deleted).error();
    ::poll(nullptr, 0, kCreationPollMs);
  }
}

Status Launcher::clear_state(const std::string& container) {
  std::string state = machine_.state_folder(container);
  dismiss_log_writer(machine_.output_path(container, "stdout"),
                     machine_.output_path(container, "stderr"));
  unpin_leftovers(state + "/volumes");
  std::error_code failure;
  std::filesystem::remove_all(state, failure);
  if (failure) return error(Code::kInternal, cat("remove ", state, ": ", failure.message()));
  return Ok;
}

}  // namespace tessera::local
