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
#include "engine/local/health.h"
#include "engine/local/log/log_writer.h"
#include "engine/local/mapped_devices.h"
#include "engine/local/pipes.h"
#include "engine/local/rootfs.h"
#include "engine/local/runc_text.h"
#include "engine/local/secret_files.h"
#include "engine/local/shm.h"
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

// A start notes the use of its image; of a run that is no longer than this, that says enough.
constexpr Millis kLongRun{3'600'000};

constexpr const char* kGivenUp = "stopped before it started";

// "8888/tcp" of an image: to be published on a free port.
std::optional<api::Port> parse_exposed_port(std::string_view text) {
  size_t slash = text.find('/');
  auto port = to_int(text.substr(0, slash));
  if (!port || *port < 1 || *port > 65535) return std::nullopt;
  bool udp = slash != std::string_view::npos && text.substr(slash + 1) == "udp";
  return api::Port{.port = *port,
                   .hostPort = 0,
                   .hostAddress = {},
                   .protocol = udp ? api::Protocol::kUdp : api::Protocol::kTcp};
}

}  // namespace

std::optional<StartFailure> Launcher::launch(const Launch& launch, const TaskPtr& task,
                                             const std::stop_token& given_up) {
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
  auto failure = start(launch, task, given_up);
  // Left by one that could not clear up after itself.
  if (failure && failure->error.code == Code::kAlreadyExists && start_anew(launch, *task).ok())
    failure = start(launch, task, given_up);
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

std::optional<StartFailure> Launcher::start(const Launch& launch, const TaskPtr& task,
                                            const std::stop_token& given_up) {
  const std::string& container = task->container;
  Image image;
  ImageStore::Hold hold(machine_.images, launch.image);
  if (auto failure = find_image(launch, image, given_up)) return failure;
  machine_.images.note_use(image.name, image.last_used);
  auto edits = find_devices(launch);
  if (!edits.ok()) return failed(api::Reason::kAcceleratorFault, edits.error());
  auto devices = find_mapped_devices(launch.devices);
  if (!devices.ok()) return failed(devices.error());
  edits->deviceNodes.insert(edits->deviceNodes.end(), devices->begin(), devices->end());
  if (given_up.stop_requested() || machine_.tasks.update([&] { return task->cancelled; }))
    return failed(api::Reason::kCancelled, error(Code::kConflict, kGivenUp));

  // The snapshot is containerd's work, the rest ours: both at once.
  auto snapshot = std::async(std::launch::async, [&] {
    return machine_.client.prepare_snapshot(machine_.options.snapshotter, container, image.chain_id,
                                            {{"containerd.io/gc.root", "tessera"}});
  });
  const std::string& wanted_name = launch.network.hostname;
  std::string host_name =
      wanted_name.empty() ? make_host_name(launch.job, launch.index) : wanted_name;
  std::string state = machine_.state_folder(container);
  Status prepared = prepare(launch, image, container, host_name);
  auto volumes = pin_volumes(launch.volumes, launch.host_paths, state + "/volumes");
  auto rootfs = snapshot.get();
  if (!prepared.ok()) return failed(prepared.error());
  if (!volumes.ok()) return failed(volumes.error());
  if (!rootfs.ok()) return failed(rootfs.error());

  auto user = find_user(launch, image, *rootfs);
  if (!user.ok()) return failed(user.error());
  auto secrets = SecretFiles::make(launch.secret_files, *user, state + "/secrets");
  if (!secrets.ok()) return failed(secrets.error());
  bool on_host = launch.network.mode == api::NetworkMode::kHost;
  auto spec = make_spec({.launch = launch,
                         .image = image.config,
                         .user = *user,
                         .edits = *edits,
                         .volumes = volumes->bound(),
                         .secrets = secrets->bound(),
                         .init_program = machine_.options.init,
                         .host_name = host_name,
                         .netns_path = on_host ? "" : machine_.network.netns_path(container),
                         .cgroups_path = machine_.cgroup_for_runc(container),
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

// What the container finds on the machine besides its image: files, a network, ports.
Status Launcher::prepare(const Launch& launch, const Image& image, const std::string& container,
                         const std::string& host_name) {
  if (launch.init && !exists(machine_.options.init))
    return error(Code::kInvalid, cat("this node has no init: ", machine_.options.init), "spec.init",
                 "an admin can install the package tini");
  TRY_STATUS(write_etc(launch, container, host_name));
  TRY_STATUS(introductions_.write_hostfile(launch, container));
  auto check = effective_check(launch.health_check, image.config.health_check);
  if (check) TRY_STATUS(HealthMonitor::keep(machine_.state_folder(container), *check));
  if (launch.network.mode == api::NetworkMode::kHost) return Ok;
  std::vector<api::Port> ports = launch.ports;
  for (const std::string& exposed : image.config.exposed_ports) {
    auto port = launch.publish_all ? parse_exposed_port(exposed) : std::nullopt;
    if (port) ports.push_back(*port);
  }
  TRY(auto reserved, machine_.network.reserve_ports(container, ports));
  return machine_.network.create_namespace(launch.project, container,
                                           launch.network.mode == api::NetworkMode::kProject);
}

std::optional<StartFailure> Launcher::find_image(const Launch& launch, Image& image,
                                                 const std::stop_token& given_up) {
  if (std::string own = text(own_platform());
      !launch.platform.empty() && !cat(own, "/").starts_with(cat(launch.platform, "/")))
    return failed(
        error(Code::kInvalid,
              cat("images for ", launch.platform, " do not run on this node, which is ", own),
              "spec.platform"));
  Result<Image> found = error(Code::kNotFound, "not looked for");
  if (launch.pull_policy != api::PullPolicy::kAlways) {
    found = machine_.images.resolve(launch.image);
    // A containerd that is just away is no fault of the image.
    if (!found.ok() && found.error().code == Code::kUnavailable) return failed(found.error());
  }
  bool missing = !found.ok() && found.error().code == Code::kNotFound;
  if (missing && launch.pull_policy != api::PullPolicy::kNever) {
    const engine::Credentials& login = launch.credentials;
    found = machine_.images.pull(launch.image, {login.user, login.password, login.auth_json}, {},
                                 given_up);
    if (!found.ok() && given_up.stop_requested())
      return failed(api::Reason::kCancelled, error(Code::kConflict, kGivenUp));
  }
  if (!found.ok())
    return StartFailure{.reason = api::Reason::kImagePull,
                        .error = found.error(),
                        .passing = found.error().code == Code::kExhausted};
  image = *std::move(found);
  return std::nullopt;
}

void Launcher::note_image_use(const Task& task) {
  if (wall_now() - task.started < kLongRun) return;
  auto record = machine_.client.container(task.container);
  if (record.ok()) machine_.images.note_use(record->image);
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

Result<User> Launcher::find_user(const Launch& launch, const Image& image,
                                 const std::vector<Mount>& rootfs) {
  TRY(UserFiles files, user_files(image, rootfs));
  TRY(User user, resolve_user(launch.user.empty() ? image.config.user : launch.user, files));
  TRY_STATUS(add_groups(launch.groups, files, user));
  return user;
}

// The hosts file gets the container's address once it has one: what is mounted is this very file.
Status Launcher::write_etc(const Launch& launch, const std::string& container,
                           const std::string& host_name) const {
  std::string folder = machine_.state_folder(container);
  TRY_STATUS(make_directories(folder, 0711));
  std::string hosts = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n";
  for (const api::HostEntry& entry : launch.network.hosts)
    hosts += cat(entry.address, "\t", entry.name, "\n");
  TRY_STATUS(append_file(folder + "/hosts", hosts));
  TRY_STATUS(append_file(folder + "/hostname", host_name + "\n"));
  return append_file(folder + "/resolv.conf",
                     resolver_file(machine_.options.name_servers, launch.network));
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
                  {std::string(kStdinLabel), launch.stdin_open ? "open" : "none"},
                  {std::string(kInitLabel), launch.init ? "yes" : "no"}},
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
  bool connected = launch.network.mode == api::NetworkMode::kProject;
  auto network = std::async(std::launch::async, [&]() -> Result<std::string> {
    return connected ? machine_.network.attach(task->project, container) : std::string();
  });
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
  if (!launch.security.hostIpc) task->shm = open_shm(*created);
  machine_.tasks.update([&] { task->started = wall_now(); });  // before it can end
  TRY_STATUS(append_file(ready_path(container), ""));
  auto started = machine_.client.start(container);
  if (!started.ok()) return std::move(started).error();
  if (launch.network.mode == api::NetworkMode::kProject) machine_.network.top_up(task->project);
  return Ok;
}

Status Launcher::clear(const std::string& container, const std::string& project) {
  // All are tried, whatever becomes of the others; the first failure is told.
  Status first = Ok;
  auto note = [&](Status status) {
    bool gone = !status.ok() && status.error().code == Code::kNotFound;
    if (!status.ok() && !gone && first.ok()) first = std::move(status);
  };
  // Before the record: without it a later server would not know that there is a socket to remove.
  machine_.bundles.remove_socket(container);
  note(machine_.network.detach(project, container));
  note(machine_.client.delete_container(container));
  note(machine_.client.remove_snapshot(machine_.options.snapshotter, container));
  note(clear_state(container));
  // A containerd that was killed in the middle of a deletion has forgotten it.
  Cgroup cgroup = machine_.cgroup(container);
  if (machine_.bundles.has(container, cgroup)) note(machine_.bundles.clear(container, cgroup));
  return first;
}

// There once all is prepared and only the start itself is left. Not synced: a crash of the machine
// takes the container along.
std::string Launcher::ready_path(const std::string& container) const {
  return machine_.state_folder(container) + "/ready";
}

// Stopped without having been started: what was to become the program died with containerd. A start
// that is killed between its word to runc's init and the answer makes that one end with 1.
bool Launcher::never_ran(const TaskInfo& task) const {
  if (task.state != TaskState::kStopped) return false;
  bool cut_off = task.exit_code == 1 && machine_.bundles.awaits_start(task.container);
  return cut_off || !exists(ready_path(task.container));
}

Result<bool> Launcher::resume(const std::string& container) {
  auto look = [&]() -> Result<TaskInfo> {
    auto info = machine_.client.task(container);
    bool gone = !info.ok() && info.error().code == Code::kNotFound;
    return gone ? TaskInfo{.container = container} : std::move(info);
  };
  TRY(TaskInfo before, look());
  if (before.state == TaskState::kUnknown || never_ran(before)) return false;
  if (before.state != TaskState::kCreated) return true;
  if (!exists(ready_path(container))) return false;
  auto started = machine_.client.start(container);
  if (started.ok()) return true;
  // The start that was cut off may have gone through meanwhile.
  TRY(TaskInfo after, look());
  bool begun = after.state != TaskState::kUnknown && after.state != TaskState::kCreated;
  return begun && !never_ran(after);
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
  Cgroup cgroup = machine_.cgroup(container);
  while (true) {
    (void)machine_.client.kill(container, {}, SIGKILL, /*all=*/true);
    auto deleted = machine_.client.delete_task(container);
    bool gone = !deleted.ok() && deleted.error().code == Code::kNotFound;
    if ((deleted.ok() || gone) && !machine_.bundles.has(container, cgroup)) return Ok;
    bool late = monotonic_ns() > limit;
    if (gone && (late || machine_.bundles.is_stale(container)))
      return machine_.bundles.clear(container, cgroup);
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
  SecretFiles::clear(state + "/secrets");
  std::error_code failure;
  std::filesystem::remove_all(state, failure);
  if (failure) return error(Code::kInternal, cat("remove ", state, ": ", failure.message()));
  return Ok;
}

}  // namespace tessera::local
