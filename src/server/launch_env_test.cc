#include "server/launch_env.h"

#include <gtest/gtest.h>

namespace tessera::server {
namespace {

using Env = std::map<std::string, std::string>;

api::Job gang(std::optional<api::Rendezvous> rendezvous) {
  api::Job job{.metadata = {.name = "train"}};
  job.spec.replicas = 2;
  job.spec.rendezvous = rendezvous;
  return job;
}

api::Task task(int64_t index, size_t devices) {
  api::Task out{.index = index, .attempt = 2, .node = "n1"};
  out.cpus = MilliCpu{1500};
  out.allocations.resize(devices);
  return out;
}

TEST(LaunchEnv, RanksCountProcesses) {
  EXPECT_EQ(convention_env(gang({}), task(1, 8)), (Env{{"GLOO_SOCKET_IFNAME", "eth0"},
                                                       {"GROUP_RANK", "1"},
                                                       {"LOCAL_RANK", "0"},
                                                       {"LOCAL_WORLD_SIZE", "1"},
                                                       {"MASTER_ADDR", "train-0"},
                                                       {"MASTER_PORT", "29500"},
                                                       {"NCCL_SOCKET_IFNAME", "eth0"},
                                                       {"NNODES", "2"},
                                                       {"NODE_RANK", "1"},
                                                       {"RANK", "1"},
                                                       {"TESSERA_HOSTS", "train-0,train-1"},
                                                       {"WORLD_SIZE", "2"}}));
}

TEST(LaunchEnv, RanksCountNodes) {
  api::Rendezvous by_node{.ranks = api::RankStyle::kNode, .port = 1234};
  Env env = convention_env(gang(by_node), task(1, 8));
  EXPECT_EQ(env.count("LOCAL_RANK"), 0u);
  EXPECT_EQ(env["WORLD_SIZE"] + env["RANK"] + env["NPROC_PER_NODE"], "218");
  EXPECT_EQ(env["PET_NNODES"] + env["PET_NODE_RANK"] + env["PET_NPROC_PER_NODE"], "218");
  EXPECT_EQ(env["PET_MASTER_ADDR"] + ":" + env["PET_MASTER_PORT"], "train-0:1234");
  EXPECT_EQ(convention_env(gang(by_node), task(0, 0))["NPROC_PER_NODE"], "1");
  by_node.processes = 4;
  EXPECT_EQ(convention_env(gang(by_node), task(0, 8))["NPROC_PER_NODE"], "4");
}

TEST(LaunchEnv, OneReplicaHasThemOnlyWhenAsked) {
  api::Job job = gang({});
  job.spec.replicas = 1;
  EXPECT_TRUE(convention_env(job, task(0, 1)).empty());
  job.spec.rendezvous.emplace();
  EXPECT_EQ(convention_env(job, task(0, 1))["MASTER_ADDR"], "127.0.0.1");
}

TEST(LaunchEnv, ABatchScriptFindsWhatSlurmSets) {
  api::Job job{.metadata = {.name = "sweep"}};
  job.spec.slurmEnv = true;
  job.spec.array = api::JobArray{.indices = "4,7,9", .parallel = {}};
  job.status.number = 20;
  Env env = convention_env(job, task(9, 2));
  EXPECT_EQ(env["SLURM_JOB_ID"], "22");
  EXPECT_EQ(env["SLURM_ARRAY_JOB_ID"] + " " + env["SLURM_ARRAY_TASK_ID"], "20 9");
  EXPECT_EQ(env["SLURM_ARRAY_TASK_COUNT"] + env["SLURM_ARRAY_TASK_MIN"], "34");
  EXPECT_EQ(env["SLURM_GPUS_ON_NODE"] + env["SLURM_CPUS_ON_NODE"], "22");
  EXPECT_EQ(env["SLURM_RESTART_COUNT"] + env["SLURM_JOB_NODELIST"], "1n1");
  EXPECT_EQ(env["JOB_COMPLETION_INDEX"], "9");
}

}  // namespace
}  // namespace tessera::server
