#include "cli/run_flags.h"

#include <gtest/gtest.h>

#include "api/codec.h"
#include "base/text.h"
#include "cli/refusals.h"
#include "wire/yaml.h"

namespace tessera::cli {
namespace {

RunInputs inputs() {
  RunInputs out;
  out.environment = [](std::string_view name) -> std::optional<std::string> {
    if (name == "HOME") return "/home/ana";
    return std::nullopt;
  };
  out.read_file = [](const std::string& path) -> Result<std::string> {
    if (path == "env.list")
      return std::string("# comment\n\nA=1\nB=two words \nHOME\nUNSET\nC=\r\n");
    if (path == "bad.list") return std::string("A=1\nB C=2\n");
    return error(Code::kNotFound, cat("open ", path, ": No such file or directory"));
  };
  out.folder = "/home/ana/work";
  return out;
}

// Words apart by blanks; "~" stands for a blank inside a word.
Result<RunPlan> plan(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string& word : split(line, ' '))
    if (!word.empty()) words.push_back(replace_all(word, "~", " "));
  static const std::vector<Flag> kFlags = run_flags();
  TRY(Args args, parse_args(kFlags, words, Order::kBeforeOperands));
  return plan_run(args, inputs());
}

struct Line {
  std::string_view line;
  std::string_view yaml;  // of the job
};

void expect_jobs(std::span<const Line> lines) {
  for (const Line& c : lines) {
    auto planned = plan(c.line);
    ASSERT_TRUE(planned.ok()) << c.line << "\n" << planned.error().text();
    EXPECT_EQ(wire::to_yaml(schema::encode(planned->job)), c.yaml) << c.line;
  }
}

TEST(RunFlags, ProgramsAsDockerRunsThem) {
  const Line kLines[] = {
      {"busybox", "spec:\n  image: busybox\n"},
      {"busybox echo hi", "spec:\n  image: busybox\n  args:\n    - echo\n    - hi\n"},
      // What follows the image is the program's, flags and "--" too.
      {"busybox sh -c echo~hi --rm --",
       "spec:\n  image: busybox\n  args:\n    - sh\n    - -c\n    - echo hi\n    - --rm\n    - "
       "--\n"},
      {"-- busybox -d", "spec:\n  image: busybox\n  args:\n    - -d\n"},
      {"--entrypoint python img -V",
       "spec:\n  image: img\n  command:\n    - python\n  args:\n    - -V\n"},
      {"--entrypoint= img python -V", "spec:\n  image: img\n  command:\n    - python\n    - -V\n"},
      {"-it --rm --name=dev busybox",
       "metadata:\n  name: dev\nspec:\n  image: busybox\n  tty: true\n  stdin: true\n  "
       "removeAfter: 1m\n"},
      {"--rm=false -i=false busybox", "spec:\n  image: busybox\n"},
      {"-u 1000:1000 -w /app busybox",
       "spec:\n  image: busybox\n  workingDir: /app\n  user: 1000:1000\n"},
      {"--pull always -e A=1 -eB=[x] -e HOME -e UNSET -e C= -e A=2 img",
       "spec:\n  image: img\n  env:\n    A: \"2\"\n    B: \"[x]\"\n    C: \"\"\n    HOME: "
       "/home/ana\n  pullPolicy: Always\n"},
      {"--env-file env.list -e A=9 img",
       "spec:\n  image: img\n  env:\n    A: \"9\"\n    B: \"two words \"\n    C: \"\"\n    HOME: "
       "/home/ana\n"},
      {"-l team=vision --label com.example.x img",
       "metadata:\n  labels:\n    com.example.x: \"\"\n    team: vision\nspec:\n  image: img\n"},
      {"--stop-signal usr1 --stop-timeout 120 img",
       "spec:\n  image: img\n  stopSignal: SIGUSR1\n  stopGrace: 2m\n"},
      {"--priority -5 --time 4h --retries 2 --replicas 4 img",
       "spec:\n  image: img\n  replicas: 4\n  priority: -5\n  maxRuntime: 4h\n  retries: 2\n"},
  };
  expect_jobs(kLines);
}

TEST(RunFlags, ResourcesAndMounts) {
  const Line kLines[] = {
      {"-m 8g --cpus 1.5 --shm-size 512m --pids-limit 100 img",
       "spec:\n  image: img\n  resources:\n    cpus: 1.5\n    memory: 8Gi\n    shm: 512Mi\n    "
       "pids: 100\n"},
      {"-v /data:/data:ro -v ./x/../y/:/y -v /a:/b:rw,cached img",
       "spec:\n  image: img\n  volumes:\n    - source: /data\n      target: /data\n      readOnly: "
       "true\n    - source: /home/ana/work/y\n      target: /y\n    - source: /a\n      target: "
       "/b\n"},
      {"--mount type=bind,src=/data,dst=/d,readonly img",
       "spec:\n  image: img\n  volumes:\n    - source: /data\n      target: /d\n      readOnly: "
       "true\n"},
      {"--gpus 2 img", "spec:\n  image: img\n  resources:\n    gpus: 2\n"},
      {"--gpus 0.5 img", "spec:\n  image: img\n  resources:\n    gpus: 0.5\n"},
      {"--gpus device=0,1 img",
       "spec:\n  image: img\n  resources:\n    gpus: 2\n    accelerator:\n      devices:\n        "
       "- \"0\"\n        - \"1\"\n"},
      {"--gpus driver=nvidia,count=1 --gpu-model H100 img",
       "spec:\n  image: img\n  resources:\n    gpus: 1\n    accelerator:\n      vendor: nvidia\n   "
       "   model: H100\n"},
      {"--gpu-memory 10g --gpu-compute 30 img",
       "spec:\n  image: img\n  resources:\n    gpus: 1\n    gpuMemory: 10Gi\n    gpuCompute: 30\n"},
      {"--gpus \"capabilities=compute,utility\" img",
       "spec:\n  image: img\n  env:\n    NVIDIA_DRIVER_CAPABILITIES: compute,utility\n  "
       "resources:\n    gpus: 1\n"},
      {"--gpus 0 img", "spec:\n  image: img\n"},
  };
  expect_jobs(kLines);
}

TEST(RunFlags, AllGpusAndTheOlderWays) {
  auto all = plan("--gpus all img");
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(all->all_gpus);
  EXPECT_TRUE(all->notes.empty());
  EXPECT_FALSE(all->job.spec.resources.gpus);

  auto runtime = plan("--runtime=nvidia img");
  ASSERT_TRUE(runtime.ok());
  EXPECT_TRUE(runtime->all_gpus);
  EXPECT_EQ(runtime->notes.at(0),
            "--runtime=nvidia is taken as --gpus all; for fewer say --gpus N");

  auto two = plan("--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=0,1 img");
  ASSERT_TRUE(two.ok());
  EXPECT_FALSE(two->all_gpus);
  EXPECT_EQ(two->job.spec.resources.gpus, MilliGpu{2000});
  EXPECT_TRUE(two->job.spec.env.empty());
  EXPECT_EQ(two->notes.at(0), "NVIDIA_VISIBLE_DEVICES=0,1 is taken as --gpus device=0,1");

  auto all_by_variable = plan("-e NVIDIA_VISIBLE_DEVICES=all img");
  ASSERT_TRUE(all_by_variable.ok());
  EXPECT_TRUE(all_by_variable->all_gpus);

  auto none = plan("--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=none img");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->all_gpus);
  EXPECT_FALSE(none->job.spec.resources.gpus);

  auto both = plan("--gpus 1 -e NVIDIA_VISIBLE_DEVICES=all img");
  ASSERT_TRUE(both.ok());
  EXPECT_FALSE(both->all_gpus);
  EXPECT_EQ(both->job.spec.resources.gpus, MilliGpu{1000});
}

TEST(RunFlags, SlipsSayWhatIsMeant) {
  struct Case {
    std::string_view line;
    std::string_view sentence;
  };
  const Case kCases[] = {
      {"", "needs an image (tessera run [FLAGS] IMAGE [COMMAND] [ARG…])"},
      {"--gpu 1 img", "unknown flag --gpu (did you mean --gpus?)"},
      {"-z img", "unknown flag -z in -z"},
      {"--name", "--name: needs a value: --name NAME"},
      {"--rm=maybe img", "--rm: is a switch: true or false, not 'maybe'"},
      {"--pull often img", "--pull: 'often' is not one of missing, always, never"},
      {"--gpus 0,1 img",
       "--gpus: '0,1' is neither a count nor a list of devices (did you mean device=0,1?)"},
      {"--gpus 0 --gpu-model H100 img",
       "--gpus: asks for no GPU, but other flags say which (leave out --gpu-memory, "
       "--gpu-compute and --gpu-model)"},
      {"--gpu-compute 130 img", "spec.resources.gpuCompute: must be at most 100, not 130"},
      {"--cpus many img",
       "--cpus: 'many' is not a number with at most three decimals (write it like 2 or 0.25)"},
      {"-m 8q img", "--memory: '8q' is not a size (write it like 8g, 512m or 10Gi)"},
      {"--pids-limit -1 img",
       "--pids-limit: -1 processes are not offered: there always is a "
       "limit (leave the flag out for 32768)"},
      {"--time 30 img", "--time: '30' has no unit (write it like 90s, 30m, 4h or 4:00:00)"},
      {"-v data:/data img",
       "--volume: named volumes like 'data' are not offered (only folders of the node can be "
       "mounted: write /folder:/target, or ./folder:/target)"},
      {"-v /data img",
       "--volume: '/data' names no folder of the node (only folders of the node can be mounted: "
       "write /folder:/target, or ./folder:/target)"},
      {"-v /a:/b:rshared img", "--volume: mode 'rshared' is not offered (use ro or rw)"},
      {"--mount src=/a,dst=/b img",
       "--mount: type 'volume' is not offered (write type=bind,source=/folder,target=/target)"},
      {"--mount type=tmpfs,dst=/b img",
       "--mount: type 'tmpfs' is not offered (write type=bind,source=/folder,target=/target)"},
      {"--env-file bad.list img", "--env-file: bad.list: line 2: the name 'B C' has a blank"},
      {"--env-file none img", "--env-file: open none: No such file or directory"},
      {"--entrypoint= img", "--entrypoint: no command is left to run (give one behind the image)"},
      {"--runtime kata img",
       "--runtime: runtime 'kata' is not offered (GPUs are asked for with --gpus)"},
      {"-w app img", "spec.workingDir: 'app' must be an absolute path without '..'"},
      {"--label =x img", "--label: '=x' has no key"},
  };
  for (const Case& c : kCases) {
    auto planned = plan(c.line);
    ASSERT_FALSE(planned.ok()) << c.line;
    EXPECT_EQ(planned.error().text(), c.sentence) << c.line;
  }
}

TEST(RunFlags, WhatIsNotOfferedIsRefusedByName) {
  struct Case {
    std::string_view line;
    std::string_view begin;
  };
  const Case kCases[] = {
      {"--privileged img", "--privileged: is not offered: it would reach beyond the container"},
      {"--network host img", "--network: is not offered: jobs are on their project's network"},
      {"--net=host img", "--net: is not offered"},
      {"--pid host img", "--pid: is not offered"},
      {"--ipc=host img", "--ipc: is not offered"},
      {"-p 8888:8888 img", "--publish: is not offered"},
      {"-itP img", "--publish-all: is not offered"},
      {"-h name img", "--hostname: is not offered"},
      {"--cap-add SYS_ADMIN img", "--cap-add: is not offered: jobs run without added privileges"},
      {"--device /dev/nvidia0 img", "--device: is not offered: devices are allocated"},
      {"--ulimit memlock=-1 img", "--ulimit: is not offered"},
      {"--restart always img", "--restart: is not offered: a failed job is tried again with "},
      {"--health-cmd true img", "--health-cmd: is not offered"},
      {"--cidfile f img", "--cidfile: is not offered: 'tessera run -d' prints the job's name"},
  };
  for (const Case& c : kCases) {
    auto planned = plan(c.line);
    ASSERT_FALSE(planned.ok()) << c.line;
    EXPECT_TRUE(planned.error().text().starts_with(c.begin)) << planned.error().text();
  }
  for (const Refusal& row : refusals()) {
    EXPECT_FALSE(row.reason.empty()) << row.name;
    if (row.harmless.empty()) continue;
    auto planned = plan(cat("--", row.name, "=", row.harmless, " img"));
    EXPECT_TRUE(planned.ok()) << row.name << ": " << planned.error().text();
  }
}

TEST(RunFlags, NoFlagIsListedTwice) {
  std::vector<Flag> flags = run_flags();
  for (size_t i = 0; i < flags.size(); ++i)
    for (size_t j = i + 1; j < flags.size(); ++j) {
      EXPECT_NE(flags[i].name, flags[j].name);
      EXPECT_TRUE(!flags[i].letter || flags[i].letter != flags[j].letter) << flags[i].name;
    }
}

TEST(RunFlags, TimeLimits) {
  EXPECT_EQ(parse_time_limit("90s")->value, 90'000);
  EXPECT_EQ(parse_time_limit("1h30m")->value, 5'400'000);
  EXPECT_EQ(parse_time_limit("4:00:00")->value, 4 * 3'600'000);
  EXPECT_EQ(parse_time_limit("5:30")->value, 330'000);
  EXPECT_EQ(parse_time_limit("2-12")->value, (48 + 12) * 3'600'000);
  EXPECT_EQ(parse_time_limit("1-02:03:04")->value, 93'784'000);
  for (std::string_view bad : {"30", "1:2:3:4", "a:b", "-1:00", "1-", ""})
    EXPECT_FALSE(parse_time_limit(bad).ok()) << bad;
}

}  // namespace
}  // namespace tessera::cli
