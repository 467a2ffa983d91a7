#include "server/launch.h"

#include <algorithm>

#include "api/validate.h"
#include "base/text.h"
#include "server/launch_env.h"
#include "wire/json.h"

namespace tessera::server {

namespace {

// Half of the task's memory: PyTorch's data loaders and NCCL die or hang with Docker's 64 MiB
// (A19).
MiB shm_of(const api::Resources& resources, MiB memory) {
  return resources.shm.value_or(MiB{std::max<int64_t>(64, memory.value / 2)});
}

// Enough for any data loader, few enough to stop a fork bomb before the node feels it.
constexpr int64_t kDefaultPids = 32'768;

Status fill_secrets(const core::State& state, const api::Job& job, engine::Launch& launch) {
  for (const api::SecretUse& wanted : job.spec.secrets) {
    auto secret = state.secrets.find(core::object_key(job.metadata.project, wanted.secret));
    if (secret == state.secrets.end())
      return error(Code::kNotFound, cat("there is no secret ", quoted(wanted.secret),
                                        " in project ", job.metadata.project));
    auto value = secret->second.data.find(wanted.key);
    if (value == secret->second.data.end())
      return error(Code::kNotFound,
                   cat("secret ", quoted(wanted.secret), " has no key ", quoted(wanted.key)));
    if (wanted.path.empty())
      launch.env[wanted.name] = value->second;
    else
      launch.secret_files.push_back({wanted.path, value->second, wanted.mode});
  }
  return Ok;
}

// The project's logins at registries: what its secrets have under docker's own name for it.
std::string registry_logins(const core::State& state, const std::string& project) {
  std::string prefix = cat(project, "/");
  Value::Map auths;
  for (auto at = state.secrets.lower_bound(prefix);
       at != state.secrets.end() && at->first.starts_with(prefix); ++at) {
    auto config = at->second.data.find(std::string(api::kRegistryLoginKey));
    if (config == at->second.data.end()) continue;
    auto parsed = wire::parse_json(config->second);
    const Value* entries = parsed.ok() ? parsed->find("auths") : nullptr;
    if (entries && entries->map())
      auths.insert(auths.end(), entries->map()->begin(), entries->map()->end());
  }
  if (auths.empty()) return {};
  return wire::to_json(Value::Map{{"auths", std::move(auths)}});
}

bool lies_under(const std::string& path, const std::string& root) {
  return path == root || root == "/" || path.starts_with(cat(root, "/"));
}

Status check_volumes(const core::State& state, const api::Job& job) {
  const std::vector<std::string>& allowed = state.projects.at(job.metadata.project).spec.hostPaths;
  for (const api::Volume& volume : job.spec.volumes) {
    bool fine = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& root) {
      return lies_under(volume.source, root);
    });
    if (!fine)
      return error(Code::kPermissionDenied,
                   cat("project ", job.metadata.project, " may not mount ", volume.source),
                   "spec.volumes",
                   cat("an admin allows it with 'tessera project set ", job.metadata.project,
                       " --add-host-path ", volume.source, "'"));
  }
  return Ok;
}

}  // namespace

Result<engine::Launch> make_launch(const core::State& state, const api::Task& task) {
  const api::Job& job = state.jobs.at(core::object_key(task.project, task.job));
  const api::JobSpec& spec = job.spec;
  engine::Launch launch;
  launch.ref = {task.id, task.attempt};
  launch.project = task.project;
  launch.job = task.job;
  launch.index = task.index;
  launch.image = spec.image;
  launch.pull_policy = spec.pullPolicy;
  launch.platform = spec.platform;
  launch.credentials.auth_json = registry_logins(state, task.project);
  launch.command = spec.command;
  launch.args = spec.args;
  launch.env = convention_env(job, task);
  for (const auto& [name, value] : spec.env) launch.env[name] = value;
  if (spec.replicas > 1) {
    for (int64_t index : api::task_indices(spec))
      launch.gang.tasks.push_back(core::task_id(job, index));
    launch.gang.slots = processes_of(spec, task);
  }
  launch.working_dir = spec.workingDir;
  launch.user = spec.user;
  launch.groups = spec.groups;
  launch.init = spec.init;
  launch.cpus = task.cpus;
  launch.cpuset = spec.resources.cpuset;
  launch.memory = task.memory;
  launch.swap = spec.resources.swap.value_or(MiB{0});
  launch.shm = shm_of(spec.resources, task.memory);
  launch.pids = spec.resources.pids.value_or(kDefaultPids);
  launch.ulimits = spec.ulimits;
  launch.stop_signal = spec.stopSignal;
  launch.stop_grace = spec.stopGrace;
  launch.volumes = spec.volumes;
  launch.tmpfs = spec.tmpfs;
  launch.security = spec.security;
  launch.devices = spec.devices;
  launch.network = spec.network;
  launch.ports = spec.ports;
  launch.publish_all = spec.publishAll;
  launch.health_check = spec.healthCheck;
  launch.host_paths = state.projects.at(task.project).spec.hostPaths;
  launch.allocations = task.allocations;
  launch.tty = spec.tty;
  launch.stdin_open = spec.stdin_;
  for (const api::Allocation& share : task.allocations) {
    auto device = state.accelerators.find(share.accelerator);
    if (device == state.accelerators.end())
      return error(Code::kUnavailable, cat("accelerator ", share.accelerator, " is gone"));
    launch.accelerators.push_back(device->second);
  }
  TRY_STATUS(check_volumes(state, job));
  TRY_STATUS(api::check_privileges(job, state.projects.at(task.project).spec.privileges));
  TRY_STATUS(fill_secrets(state, job, launch));
  return launch;
}

}  // namespace tessera::server
