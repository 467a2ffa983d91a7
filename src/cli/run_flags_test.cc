#include "cli/run_flags.h"

#include <gtest/gtest.h>

#include "api/codec.h"
#include "base/text.h"
#include "cli/refusals.h"
#include "cli/run_container.h"
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
  out.user = "1000:100";
  out.groups = {"100", "44"};
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
      {"-u root -v /data:/data:ro -v ./x/../y/:/y -v /a:/b:rw,cached img",
       "spec:\n  image: img\n  user: root\n  volumes:\n    - source: /data\n      target: /data\n  "
       "    readOnly: "
       "true\n    - source: /home/ana/work/y\n      target: /y\n    - source: /a\n      target: "
       "/b\n"},
      {"--mount type=bind,src=/data,dst=/d,readonly img",
       "spec:\n  image: img\n  user: 1000:100\n  groups:\n    - \"100\"\n    - \"44\"\n  "
       "volumes:\n    - source: /data\n      target: /d\n      readOnly: "
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
       "--mount: type 'volume' is not offered (write type=bind,source=/folder,target=/target, or "
       "type=tmpfs,target=/target)"},
      {"--mount type=tmpfs,src=/a,dst=/b img",
       "--mount: a tmpfs is empty at first: it has no source"},
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

TEST(RunFlags, TheContainerAsDockerRunsIt) {
  const Line kLines[] = {
      {"-p 8888 -p 80:8080/udp -p 0.0.0.0:90-91:1-2 img",
       "spec:\n  image: img\n  ports:\n    - port: 8888\n    - port: 8080\n      hostPort: 80\n   "
       "   protocol: udp\n    - port: 1\n      hostPort: 90\n      hostAddress: 0.0.0.0\n    - "
       "port: 2\n      hostPort: 91\n      hostAddress: 0.0.0.0\n"},
      {"-P --network bridge -h box --add-host db:10.0.0.7 --dns 1.1.1.1 --dns-search lan img",
       "spec:\n  image: img\n  network:\n    hostname: box\n    hosts:\n      - name: db\n        "
       "address: 10.0.0.7\n    nameServers:\n      - 1.1.1.1\n    searchDomains:\n      - lan\n  "
       "publishAll: true\n"},
      {"--net=host --pid host --ipc=host --privileged img",
       "spec:\n  image: img\n  network:\n    mode: Host\n  security:\n    hostPid: true\n    "
       "hostIpc: true\n    privileged: true\n"},
      {"--read-only --tmpfs /run:size=64m,exec,mode=700 --mount type=tmpfs,dst=/t img",
       "spec:\n  image: img\n  tmpfs:\n    - target: /t\n    - target: /run\n      size: 64Mi\n   "
       "   mode: 448\n      executable: true\n  security:\n    readOnlyRoot: true\n"},
      {"--cap-add SYS_PTRACE --cap-drop=ALL --security-opt no-new-privileges --security-opt "
       "seccomp=unconfined img",
       "spec:\n  image: img\n  security:\n    addCapabilities:\n      - SYS_PTRACE\n    "
       "dropCapabilities:\n      - ALL\n    unconfined: true\n"},
      {"--device /dev/fuse --device /dev/a:/dev/b:r --ulimit nofile=1024:4096 --group-add video "
       "img",
       "spec:\n  image: img\n  groups:\n    - video\n  devices:\n    - source: /dev/fuse\n    - "
       "source: /dev/a\n      target: /dev/b\n      permissions: r\n  ulimits:\n    - name: "
       "nofile\n "
       "     soft: 1024\n      hard: 4096\n"},
      {"--health-cmd true --health-interval 5s --health-retries 2 --init img",
       "spec:\n  image: img\n  init: true\n  healthCheck:\n    command:\n      - /bin/sh\n      - "
       "-c\n      - \"true\"\n    interval: 5s\n    retries: 2\n"},
      {"--no-healthcheck --restart on-failure:3 img",
       "spec:\n  image: img\n  retries: 3\n  backoff: 100ms\n  healthCheck:\n    disabled: true\n"},
      {"--restart unless-stopped --platform linux/amd64 img",
       "spec:\n  image: img\n  backoff: 100ms\n  restartPolicy: Always\n  platform: linux/amd64\n"},
      {"-m 1g --memory-swap 3g --cpuset-cpus 0-1 img",
       "spec:\n  image: img\n  resources:\n    memory: 1Gi\n    swap: 2Gi\n    cpuset: 0-1\n"},
      {"-m 1g --memory-swap 1g --ipc private img",
       "spec:\n  image: img\n  resources:\n    memory: 1Gi\n"},
      {"--secret hub:token:HF_TOKEN --secret hub:token:/run/token img",
       "spec:\n  image: img\n  secrets:\n    - name: HF_TOKEN\n      secret: hub\n      key: "
       "token\n    - path: /run/token\n      secret: hub\n      key: token\n"},
  };
  expect_jobs(kLines);
}

TEST(RunFlags, WhoMountsFoldersRunsAsThemselves) {
  auto mounting = plan("-v /data:/data img");
  ASSERT_TRUE(mounting.ok());
  EXPECT_EQ(mounting->job.spec.user, "1000:100");
  EXPECT_EQ(mounting->notes.at(0),
            "runs as you, 1000:100, since it mounts folders; --user root runs it as root");
  EXPECT_EQ(plan("-u root -v /data:/data img")->job.spec.user, "root");
  EXPECT_EQ(plan("img")->job.spec.user, "");
}

TEST(RunFlags, PortsSayWhoReachesThem) {  // F4
  EXPECT_EQ(plan("-p 8888:8888 img")->notes.at(0),
            "ports are published on 127.0.0.1 of the node; -p 0.0.0.0:PORT:PORT opens one to "
            "others");
  EXPECT_TRUE(plan("-p 0.0.0.0:8888:8888 img")->notes.empty());
}

TEST(RunFlags, DetachKeysAndTheCidfile) {
  EXPECT_EQ(*parse_detach_keys("ctrl-p,ctrl-q"), "\x10\x11");
  EXPECT_EQ(*parse_detach_keys("a,ctrl-],ctrl-@"), std::string("a\x1d\0", 3));
  for (std::string_view bad : {"", "ctrl-", "ab", "ctrl-pp", "a,,b"})
    EXPECT_FALSE(parse_detach_keys(bad).ok()) << bad;
  EXPECT_EQ(plan("--detach-keys x,y img")->detach_keys, "xy");
  EXPECT_EQ(plan("--cidfile /tmp/id img")->cidfile, "/tmp/id");
}

TEST(RunFlags, WhatIsNotOfferedIsRefusedByName) {
  struct Case {
    std::string_view line;
    std::string_view begin;
  };
  const Case kCases[] = {
      {"--network mynet img",
       "--network: 'mynet' is not offered: a job is on its project's network"},
      {"--pid container:x img", "--pid: 'container:x' is not offered"},
      {"--ipc=shareable img", "--ipc: 'shareable' is not offered"},
      {"-p 70000 img", "--publish: '70000' is no port (ports are 1 to 65535)"},
      {"-p [::1]:80:80 img", "--publish: '[::1]:80:80' has an IPv6 address"},
      {"-p 80-81:90-92 img", "--publish: the ranges of '80-81:90-92' differ in length"},
      {"-p 80:80/sctp img", "--publish: protocol 'sctp' is not offered (use tcp or udp)"},
      {"--add-host x:host-gateway img", "--add-host: host-gateway is not offered"},
      {"--add-host x img", "--add-host: 'x' is not NAME:ADDRESS"},
      {"--dns here img", "spec.network.nameServers[0]: 'here' is no IP address"},
      {"--cap-add SYS_PTRAC img",
       "spec.security.addCapabilities[0]: 'SYS_PTRAC' is not a capability (did you mean "
       "SYS_PTRACE?)"},
      {"--security-opt no-new-privileges=false img", "--security-opt: jobs never gain privileges"},
      {"--security-opt seccomp=my.json img", "--security-opt: profiles of your own"},
      {"--device nvidia.com/gpu=all img", "--device: 'nvidia.com/gpu=all' names a CDI device"},
      {"--device /dev/a:/dev/b:x img", "spec.devices[0].permissions: 'x' is not made of r, w"},
      {"--ulimit nofile img", "--ulimit: 'nofile' is not NAME=SOFT[:HARD]"},
      {"--ulimit nofiles=1 img", "spec.ulimits[0].name: 'nofiles' is no limit of setrlimit(2)"},
      {"--ulimit nofile=2:1 img", "spec.ulimits[0].soft: is above the hard limit"},
      {"--restart always --rm img", "--restart: a job that is started again cannot be removed"},
      {"--restart sometimes img", "--restart: 'sometimes' is no policy"},
      {"--restart always --replicas 2 img",
       "spec.restartPolicy: Always is for jobs of one replica"},
      {"--restart always --retries 2 img", "spec.retries: a restartPolicy has no limit"},
      {"--memory-swap 2g img", "--memory-swap: is memory and swap together (give --memory"},
      {"-m 2g --memory-swap 1g img", "--memory-swap: is less than --memory"},
      {"-m 2g --memory-swap -1 img", "--memory-swap: swap without limit is not offered"},
      {"--cpuset-cpus all img", "spec.resources.cpuset: 'all' is no list of CPUs"},
      {"--tmpfs /t:uid=7 img", "--tmpfs: option 'uid=7' is not offered"},
      {"--platform windows/amd64 img", "spec.platform: 'windows/amd64' is no platform of Linux"},
      {"--net none -p 80 img", "spec.ports: ports are published from the project's network only"},
      {"--health-cmd x --no-healthcheck img", "--no-healthcheck: another flag gives a check"},
      {"--secret a:b img", "--secret: 'a:b' is not SECRET:KEY:TARGET"},
      {"--tmpfs /a --tmpfs /a img", "spec.tmpfs[1].target: '/a' is mounted twice"},
      {"--expose 80 img", "--expose: is not offered: jobs get an address"},
      {"--sysctl a=b img", "--sysctl: is not offered: kernel settings are the node's"},
      {"--cpu-shares 5 img", "--cpu-shares: is not offered: CPU is given in cores: use --cpus"},
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

// Those of `docker run` that scripts carry over: each works or is refused by name.
TEST(RunFlags, EveryFlagOfDockerIsKnown) {
  constexpr std::string_view kDocker[] = {
      "detach",      "interactive",  "tty",          "rm",           "name",         "volume",
      "mount",       "env",          "env-file",     "publish",      "publish-all",  "shm-size",
      "memory",      "memory-swap",  "cpus",         "cpuset-cpus",  "ipc",          "network",
      "ulimit",      "user",         "workdir",      "entrypoint",   "label",        "restart",
      "stop-signal", "stop-timeout", "init",         "pids-limit",   "read-only",    "tmpfs",
      "cap-add",     "cap-drop",     "security-opt", "device",       "group-add",    "add-host",
      "dns",         "hostname",     "runtime",      "platform",     "pull",         "health-cmd",
      "privileged",  "cidfile",      "gpus",         "attach",       "blkio-weight", "link",
      "log-driver",  "sysctl",       "userns",       "volumes-from", "expose",       "label-file",
      "detach-keys"};
  std::vector<Flag> flags = run_flags();
  for (std::string_view name : kDocker)
    EXPECT_TRUE(std::any_of(flags.begin(), flags.end(), [&](const Flag& flag) {
      return flag.name == name;
    })) << name;
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
