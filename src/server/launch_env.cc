#include "server/launch_env.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::server {

namespace {

using Env = std::map<std::string, std::string>;

// The interface of the project's network: NCCL and Gloo would look at the loopback too, or take a
// device that leads nowhere (F5).
constexpr std::string_view kInterface = "eth0";

// torchrun takes its own arguments from PET_*, so that it needs none on the command line.
void add_node_ranks(const api::JobSpec& spec, const api::Task& task, Env& env) {
  std::string per_node = cat(processes_of(spec, task));
  env["NPROC_PER_NODE"] = env["LOCAL_WORLD_SIZE"] = per_node;
  env["PET_NPROC_PER_NODE"] = per_node;
  env["PET_NNODES"] = env["NNODES"];
  env["PET_NODE_RANK"] = env["NODE_RANK"];
  env["PET_MASTER_ADDR"] = env["MASTER_ADDR"];
  env["PET_MASTER_PORT"] = env["MASTER_PORT"];
}

void add_rendezvous(const api::Job& job, const api::Task& task, Env& env) {
  const api::JobSpec& spec = job.spec;
  bool gang = spec.replicas > 1;
  if (!gang && !spec.rendezvous) return;
  api::Rendezvous wanted = spec.rendezvous.value_or(api::Rendezvous{});
  env["MASTER_ADDR"] = gang ? api::make_host_name(job.metadata.name, 0) : "127.0.0.1";
  env["MASTER_PORT"] = cat(wanted.port);
  env["NNODES"] = env["WORLD_SIZE"] = cat(spec.replicas);
  env["NODE_RANK"] = env["GROUP_RANK"] = env["RANK"] = cat(task.index);
  if (wanted.ranks == api::RankStyle::kNode) {
    add_node_ranks(spec, task, env);
  } else {
    env["LOCAL_RANK"] = "0";
    env["LOCAL_WORLD_SIZE"] = "1";
  }
  if (!gang) return;
  std::vector<std::string> hosts;
  for (int64_t index : api::task_indices(spec))
    hosts.push_back(api::make_host_name(job.metadata.name, index));
  env["TESSERA_HOSTS"] = join(hosts, ",");
  env["NCCL_SOCKET_IFNAME"] = env["GLOO_SOCKET_IFNAME"] = kInterface;
}

// What only the server knows; 'tessera submit' adds what the script says.
void add_slurm(const api::Job& job, const api::Task& task, Env& env) {
  if (!job.spec.slurmEnv) return;
  std::vector<int64_t> indices = api::task_indices(job.spec);
  // The tasks of an array have numbers of their own, one after another.
  auto place = std::ranges::lower_bound(indices, task.index) - indices.begin();
  std::string cpus = cat((task.cpus.value + 999) / 1000);
  env["SLURM_JOB_ID"] = env["SLURM_JOBID"] = cat(job.status.number + place);
  env["SLURM_JOB_NODELIST"] = env["SLURM_NODELIST"] = env["SLURMD_NODENAME"] = task.node;
  env["SLURM_JOB_NUM_NODES"] = env["SLURM_NNODES"] = "1";
  env["SLURM_NODEID"] = env["SLURM_PROCID"] = env["SLURM_LOCALID"] = "0";
  env["SLURM_CPUS_ON_NODE"] = env["SLURM_JOB_CPUS_PER_NODE"] = cpus;
  env["SLURM_GPUS_ON_NODE"] = cat(task.allocations.size());
  env["SLURM_CLUSTER_NAME"] = "tessera";
  env["SLURM_RESTART_COUNT"] = cat(task.attempt - 1);
  if (!job.spec.array) return;
  env["SLURM_ARRAY_JOB_ID"] = cat(job.status.number);
  env["SLURM_ARRAY_TASK_ID"] = cat(task.index);
  env["SLURM_ARRAY_TASK_COUNT"] = cat(indices.size());
  env["SLURM_ARRAY_TASK_MIN"] = cat(indices.front());
  env["SLURM_ARRAY_TASK_MAX"] = cat(indices.back());
}

}  // namespace

int64_t processes_of(const api::JobSpec& spec, const api::Task& task) {
  if (spec.rendezvous && spec.rendezvous->processes) return *spec.rendezvous->processes;
  if (!spec.rendezvous || spec.rendezvous->ranks == api::RankStyle::kProcess) return 1;
  return std::max<int64_t>(1, static_cast<int64_t>(task.allocations.size()));
}

Env convention_env(const api::Job& job, const api::Task& task) {
  Env env;
  add_rendezvous(job, task, env);
  if (job.spec.array) env["JOB_COMPLETION_INDEX"] = cat(task.index);  // Kubernetes' name for it
  add_slurm(job, task, env);
  return env;
}

}  // namespace tessera::server
