#include "simulate/workload.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::simulate {
namespace {

// One line a job: name project at+runs replicas×milli.
std::string told(const Workload& workload) {
  std::string out;
  for (const Submission& job : workload.jobs)
    out += cat(job.name, " ", job.project, " ", job.at.value, "+", job.runs.value, " ",
               job.replicas, "x", job.resources.gpus ? job.resources.gpus->value : 0, "\n");
  return out;
}

TEST(Workload, EveryFormatIsSeenFromItsFirstLine) {
  struct Case {
    std::string text, jobs;
  };
  const Case cases[] = {
      {"job_id,num_gpu,submit_time,iterations,model_name,duration\n7,4,1000,9,dqn,60000\n",
       "job-7 default 1000+60000 1x4000\n"},
      {"#job id,arrival time (sec),topology,shape,size,duration (sec)\n0,1.5,CLOS,2,2,30.0\n\n",
       "job-0 default 1500+30000 1x2000\n"},
      {"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
       "deletion_time,scheduled_time\np0,6000,12288,1,460,,LS,Running,10,30,15\n"
       "p1,6000,12288,0,0,,LS,Pending,10,30,\n",
       "p0 default 10000+15000 1x460\n"},
      {"JobID|Account|Submit|ElapsedRaw|AllocTRES\n"
       "12|physics|2026-01-31T12:00:00|90|billing=8,cpu=16,gres/gpu:a100=8,gres/gpu=8,mem=64G,"
       "node=2\n12.batch||2026-01-31T12:00:00|90|cpu=8\n",
       "job-12 physics 1769860800000+90000 2x4000\n"},
      {"JobID|Submit|Elapsed|ReqTRES\n1_2|2026-01-31T12:00:00|1-00:00:01|cpu=1\n",
       "job-1-2 default 1769860800000+86401000 1x0\n"},
      {"jobs:\n- {name: a, count: 2, at: 1m, every: 10s, runs: 1h, resources: {gpus: 0.5}}\n",
       "a-0 default 60000+3600000 1x500\na-1 default 70000+3600000 1x500\n"},
  };
  for (const Case& one : cases) {
    Workload workload;
    Status read = read_file(one.text, workload);
    ASSERT_TRUE(read.ok()) << one.text << read.error().text();
    EXPECT_EQ(told(workload), one.jobs);
  }
}

TEST(Workload, MistakesSayWhere) {
  struct Case {
    std::string text, message;
  };
  const Case cases[] = {
      {"job_id,num_gpu,submit_time,duration\n1,2,3,4\n1,x,3,4\n",
       "line 3, num_gpu: 'x' is not a number that can be used"},
      {"job_id,num_gpu,submit_time,duration\n1,2\n", "line 2, submit_time: the line has no such"},
      {"name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,1000\n", "has no times"},
      {"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,"
       "scheduled_time\np,1,1,1,1000,V100|T4,1,2,1\n",
       "names several models"},
      {"JobID|Submit\n1|x\n", "sacct -a -X -P"},
      {"JobID|Submit|Elapsed|ReqTRES\n1|yesterday|1|cpu=1\n", "line 2, Submit: 'yesterday'"},
      {"JobID|Submit|Elapsed|ReqTRES\n1|2026-01-31T12:00:00|soon|cpu=1\n", "line 2, Elapsed"},
      {"JobID|Submit|ElapsedRaw|ReqTRES\n1|2026-01-31T12:00:00|5|cpu=many\n", "'cpu=many'"},
      {"jobs:\n- {name: a, runs: 1h, gpu: 1}\n", "gpu"},
  };
  for (const Case& one : cases) {
    Workload workload;
    Status read = read_file(one.text, workload);
    ASSERT_FALSE(read.ok()) << one.text;
    EXPECT_NE(read.error().text().find(one.message), std::string::npos) << read.error().text();
  }
}

TEST(Workload, WhatIfsAreChecked) {
  Workload workload;
  for (auto text : {"2xH100", "0x8xH100", "2x0xH100", "x", "", "2x8"})
    EXPECT_FALSE(add_machines(text, workload).ok()) << text;
  for (auto text :
       {"project/.quota.max=1", "project/a.quota.max=", "a.quota.max=1", "project/a.quota.min=1"})
    EXPECT_FALSE(set_value(text, workload).ok()) << text;
  EXPECT_FALSE(complete(workload).ok());
  EXPECT_TRUE(add_machines("2x8xH100", workload).ok());
  EXPECT_TRUE(add_machines("1x4xH100", workload).ok());
  EXPECT_EQ(workload.machines.back().name, "added-h100-2");
  EXPECT_TRUE(set_value("project/a.quota.max=1.5", workload).ok());
  EXPECT_EQ(workload.projects.at("a").max, MilliGpu{1500});
  EXPECT_FALSE(complete(workload).ok());  // still no jobs
}

TEST(Workload, LargeJobsBecomeGangsAndTimeBeginsWithTheFirst) {
  Workload workload;
  ASSERT_TRUE(add_machines("9x8xV100", workload).ok());
  ASSERT_TRUE(read_file("job_id,num_gpu,submit_time,duration\n"
                        "2,12,9000,1\n1,28,5000,1\n3,8,9000,1\n4,17,9000,1\n",
                        workload)
                  .ok());
  ASSERT_TRUE(complete(workload).ok());
  EXPECT_EQ(told(workload),
            "job-1 default 0+1 4x7000\njob-2 default 4000+1 2x6000\n"
            "job-3 default 4000+1 1x8000\njob-4 default 4000+1 17x1000\n");
}

}  // namespace
}  // namespace tessera::simulate
