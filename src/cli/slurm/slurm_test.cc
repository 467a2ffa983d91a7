// #SBATCH scripts: what they become, and one sentence for each mistake.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>

#include "api/codec.h"
#include "base/text.h"
#include "cli/slurm/directives.h"
#include "cli/slurm/submission.h"

namespace tessera::slurm {
namespace {

// A wall that shows UTC; it is a Tuesday.
constexpr Instant kNow{1'773'153'000'000};  // 2026-03-10T14:30:00Z

WallTime to_wall(Instant at) {
  using namespace std::chrono;
  sys_seconds moment{seconds(at.ms / 1000)};
  year_month_day date{floor<days>(moment)};
  hh_mm_ss time{moment - floor<days>(moment)};
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(time.hours().count()),
          static_cast<int>(time.minutes().count()),
          static_cast<int>(time.seconds().count())};
}

Instant from_wall(const WallTime& wall) {
  using namespace std::chrono;
  auto first = sys_days{year(wall.year) / wall.month / 1};
  auto moment =
      first + days(wall.day - 1) + hours(wall.hour) + minutes(wall.minute) + seconds(wall.second);
  return {duration_cast<milliseconds>(moment.time_since_epoch()).count()};
}

Submitter submitter() {
  return {.user = "ada",
          .uid = 1000,
          .gid = 100,
          .home = "/home/ada",
          .folder = "/home/ada/work",
          .host = "login",
          .environment = {{"PATH", "/usr/bin"}, {"SEED", "7"}, {"HF_HOME", "/hf"}},
          .clock = {.now = kNow, .to_wall = to_wall, .from_wall = from_wall}};
}

std::string script_of(std::string_view directives) {
  std::string out = "#!/bin/bash\n#SBATCH --container-image=busybox\n";
  for (const std::string& line : split(directives, '\n'))
    if (!line.empty()) out += cat("#SBATCH ", line, "\n");
  return out + "hostname\n";
}

Result<Submission> plan(std::string text, const std::vector<Option>& flags = {}) {
  return plan_submission({.text = std::move(text), .name = "train.sh", .arguments = {}}, flags,
                         submitter());
}

// The job's spec without what every script has, as one line of JSON-like text.
std::string wish(std::string_view directives) {
  auto planned = plan(script_of(directives));
  if (!planned.ok()) return planned.error().text();
  api::JobSpec spec = planned->job.spec;
  spec.image.clear();
  spec.command.clear();
  spec.env.clear();
  spec.slurmEnv = false;
  spec.requeue = false;
  std::function<std::string(const Value&)> show = [&](const Value& value) -> std::string {
    if (const std::string* text = value.string()) return *text;
    if (const int64_t* number = value.integer()) return cat(*number);
    if (const bool* yes = value.boolean()) return *yes ? "true" : "false";
    std::vector<std::string> parts;
    if (const Value::List* list = value.list())
      for (const Value& item : *list) parts.push_back(show(item));
    if (const Value::Map* map = value.map())
      for (const auto& [key, member] : *map) parts.push_back(cat(key, "=", show(member)));
    return cat(value.list() ? "[" : "{", join(parts, " "), value.list() ? "]" : "}");
  };
  Value tree = schema::encode(spec);
  std::erase_if(*tree.map(), [](const auto& member) { return member.first == "image"; });
  return show(tree);
}

TEST(Directives, AreDistinct) {
  std::set<std::string_view> names;
  std::set<char> letters;
  for (const Directive& row : directives()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(!row.letter || letters.insert(row.letter).second) << row.letter;
    EXPECT_NE(row.meaning.empty(), row.refusal.empty()) << row.name;
    EXPECT_EQ(row.takes == Takes::kNone, row.value.empty()) << row.name;
  }
}

TEST(Directives, BecomeFieldsOfTheJob) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "{}"},
      {"--gres=gpu:2", "{resources={gpus=2}}"},
      {"--gres=gpu:a100:2", "{resources={gpus=2 accelerator={model=a100}}}"},
      {"--gres gpu", "{resources={gpus=1}}"},
      {"-G 4 -C h100", "{resources={gpus=4 accelerator={model=h100}}}"},
      {"--gpus-per-task=2 -n 3", "{resources={gpus=6 cpus=3}}"},
      {"--gpus-per-node=v100:1\n--gres=gpu:1", "{resources={gpus=1 accelerator={model=v100}}}"},
      {"-N1 -n 4 -c 2", "{resources={cpus=8}}"},
      {"--ntasks-per-node=4", "{resources={cpus=4}}"},
      {"--gpus=2 --cpus-per-gpu=6 --mem-per-gpu=32G", "{resources={gpus=2 cpus=12 memory=64Gi}}"},
      {"--mem=4096", "{resources={memory=4Gi}}"},
      {"--mem 1T", "{resources={memory=1024Gi}}"},
      {"-c 4 --mem-per-cpu=2G", "{resources={cpus=4 memory=8Gi}}"},
      {"--time=90", "{maxRuntime=1h30m}"},
      {"-t 1:30", "{maxRuntime=1m30s}"},
      {"-t2:00:00", "{maxRuntime=2h}"},
      {"--time=1-12", "{maxRuntime=1d12h}"},
      {"--time=1-12:30:15", "{maxRuntime=1d12h30m15s}"},
      {"--time=UNLIMITED", "{}"},
      {"--array=0-15:4%2", "{array={indices=0-15:4 parallel=2}}"},
      {"-a 1,3,5", "{array={indices=1,3,5}}"},
      {"-d afterok:12:13,afternotok:prep",
       "{dependsOn=[{job=12} {job=13} {job=prep condition=afternotok}]}"},
      {"-d after:12+5", "{dependsOn=[{job=12 condition=after delay=5m}]}"},
      {"-d afterany:12_3", "{dependsOn=[{job=12 condition=afterany index=3}]}"},
      {"-d singleton", "{singleton=ada/train.sh}"},
      {"-J nightly -d singleton", "{singleton=ada/nightly}"},
      {"--begin=now+2hours", "{startAfter=2026-03-10T16:30:00.000Z}"},
      {"--begin=16:00", "{startAfter=2026-03-10T16:00:00.000Z}"},
      {"--begin=4:00AM", "{startAfter=2026-03-11T04:00:00.000Z}"},
      {"--begin=tomorrow", "{startAfter=2026-03-11T00:00:00.000Z}"},
      {"--begin=2026-12-31T08:15", "{startAfter=2026-12-31T08:15:00.000Z}"},
      {"--begin=04/01/26", "{startAfter=2026-04-01T00:00:00.000Z}"},
      {"--begin=now", "{}"},
      {"-t 60 --signal=B:USR1@120",
       "{maxRuntime=1h endWarning={signal=SIGUSR1 before=2m firstProcessOnly=true}}"},
      {"-t 60 --signal=12", "{maxRuntime=1h endWarning={signal=SIGUSR2}}"},
      {"--priority=50 --nice=20", "{priority=30}"},
      {"--nice", "{priority=-100}"},
      {"--chdir=/data", "{workingDir=/data}"},
      {"--container-workdir=/w --chdir=/data", "{workingDir=/w}"},
      {"--container-mounts=/data:/data:ro,./out:/out",
       "{volumes=[{source=/data target=/data readOnly=true} {source=/home/ada/work/out "
       "target=/out}]}"},
      {"--container-mount-home", "{volumes=[{source=/home/ada target=/home/ada}]}"},
      {"--container-remap-root", "{user=0:0}"},
      {"--no-container-remap-root", "{user=1000:100}"},
      {"--mail-type=NONE", "{}"},
      {"--job-name='my job' # a comment", "{}"},
      {"--time=10 --time=20", "{maxRuntime=20m}"}};
  for (const auto& [directives, expected] : kCases)
    EXPECT_EQ(wish(directives), expected) << directives;
}

TEST(Directives, MistakesAreToldByTheirLine) {
  const std::pair<const char*, const char*> kCases[] = {
      {"--gpu=1", "line 3: sbatch has no option --gpu (did you mean --gpus?)"},
      {"-Y", "line 3: sbatch has no option -Y"},
      {"gpus=1",
       "line 3: 'gpus=1' is not an option (options begin with -, and a script's own arguments "
       "follow its name)"},
      {"--time", "line 3: --time needs a value: TIME"},
      {"--time=", "line 3: --time: needs a value: TIME"},
      {"--requeue=yes", "line 3: --requeue takes no value"},
      {"--comment='open", "line 3: a quote ' is not closed"},
      {"--time=soon",
       "line 3: --time: 'soon' is not a time limit (write M, M:S, H:M:S, D-H, D-H:M or D-H:M:S, or "
       "UNLIMITED)"},
      {"--time=1:2:3:4",
       "line 3: --time: '1:2:3:4' is not a time limit (write M, M:S, H:M:S, D-H, D-H:M or D-H:M:S, "
       "or UNLIMITED)"},
      {"--begin=someday",
       "line 3: --begin: 'someday' is not a time to begin at (write now+2hours, 16:00, tomorrow, "
       "2026-01-31 or 2026-01-31T16:00:00)"},
      {"-N 2",
       "line 3: --nodes: a script runs once, in one container, and has no srun to start others "
       "(submit a gang instead: a Job with spec.replicas and spec.rendezvous)"},
      {"-N two", "line 3: --nodes: 'two' is not a whole number above 0"},
      {"-n 2 --ntasks-per-node=4",
       "line 3: --ntasks-per-node: is 4 on one node, but --ntasks is 2"},
      {"--gres=gpu:two:x",
       "line 3: --gres: 'gpu:two:x' is not a number of accelerators (write gpu:N or gpu:MODEL:N)"},
      {"--gres=shard:1",
       "line 3: --gres: 'shard' is not a resource that is counted; gpu is the only one (write "
       "gpu:N or gpu:MODEL:N)"},
      {"--gpus=1 --gres=gpu:2",
       "line 3: --gres: asks for 2 accelerators, but line 3: --gpus for 1"},
      {"--gpus=a100:1,h100:1",
       "line 3: --gpus: 'a100:1,h100:1' names several models; a job's accelerators are of one "
       "(write N or MODEL:N)"},
      {"-C a100",
       "line 3: --constraint: is the model of an accelerator, and none is asked for (add --gpus, "
       "or leave it out)"},
      {"-G1 -C 'a100|h100'",
       "line 3: --constraint: 'a100|h100' is more than one word (name a part of the accelerator's "
       "model, like h100)"},
      {"--cpus-per-gpu=4",
       "line 3: --cpus-per-gpu: is for each accelerator, and none is asked for (add --gpus)"},
      {"--mem=lots",
       "line 3: --mem: 'lots' is not a size (write MiB as a number, or a size like 64G)"},
      {"--mem=0",
       "line 3: --mem: '0' would be all memory of the node, which cannot be asked for (leave it "
       "out for the fair part of the node, or name a size)"},
      {"--mem=1G --mem-per-cpu=1G",
       "line 3: --mem-per-cpu: and line 3: --mem both say how much memory (leave one out)"},
      {"--array=1-",
       "line 3: --array: '1-' is neither a number nor a range of them (write numbers and ranges "
       "like 1,3,10-20 or 0-15:4)"},
      {"--array=0-3%0",
       "line 3: --array: '0' is not how many tasks may run at a time (write it like 0-15%4)"},
      {"-d afterok",
       "line 3: --dependency: 'afterok' names no job (write afterok:JOB, afternotok:JOB, "
       "afterany:JOB, after:JOB or singleton)"},
      {"-d aftercorr:3",
       "line 3: --dependency: 'aftercorr:3' ties tasks of two arrays one by one, which is not "
       "offered (depend on one task with afterok:JOB_INDEX)"},
      {"-d 'afterok:1?afterok:2'",
       "line 3: --dependency: 'afterok:1?afterok:2' is satisfied by any one of several, which is "
       "not offered (join with commas: all must come true)"},
      {"-d afterok:1+5", "line 3: --dependency: '1+5' has a delay, which only goes with after"},
      {"-d afterok:A", "line 3: --dependency: 'A' is neither a job's number nor its name"},
      {"--signal=USR1@60",
       "line 3: --signal: warns before the time limit, and there is none (add --time)"},
      {"-t1 --signal=R:USR1",
       "line 3: --signal: 'R' in front of a signal is not offered (write B: for the script alone, "
       "or nothing for all its processes)"},
      {"-t1 --signal=NOPE",
       "line 3: --signal: 'NOPE' is not a signal (for example SIGTERM, SIGINT or SIGUSR1)"},
      {"--priority=5000", "line 3: --priority: '5000' is not a number from -1000 to 1000"},
      {"--output=%q",
       "line 3: --output: '%q' has %q, which stands for nothing (there are %j %A %a %N %x %u and "
       "%%)"},
      {"--export='A B'",
       "line 3: --export: 'A B' is not the name of a variable (write ALL, NONE or NAME[=VALUE],…)"},
      {"--container-image=/img.sqsh",
       "line 3: --container-image: '/img.sqsh' is a file; images come from a registry or were "
       "imported ('tessera image import' reads archives of docker save and OCI layouts)"},
      {"--container-mounts=/a:b",
       "line 3: --container-mounts: 'b' is not a path from / on (write SOURCE:TARGET or "
       "SOURCE:TARGET:ro)"},
      {"--container-mounts=/a:/b:shared",
       "line 3: --container-mounts: 'shared' is not a flag of a mount that is offered (write "
       "SOURCE:TARGET or SOURCE:TARGET:ro)"},
      {"--chdir=work",
       "line 3: --chdir: 'work' is not a path from / on (it is a folder in the container)"},
      {"-p gpu -A vision",
       "line 3: --partition: is 'gpu', but --account is 'vision', and both are the project (leave "
       "one out)"},
      {"--qos=high", "line 3: --qos: there are no qualities of service; use --priority"},
      {"--exclusive",
       "line 3: --exclusive: a whole node cannot be asked for; its accelerators can: whoever holds "
       "a whole one shares it with nobody"},
      {"--mail-user=a@b.c",
       "line 3: --mail-user: no mail is sent; 'tessera wait' tells when a job has ended"},
      {"--wrap=hostname",
       "line 3: --wrap: takes the place of a script, so it cannot stand in one"}};
  for (const auto& [directives, expected] : kCases)
    EXPECT_EQ(wish(directives), expected) << directives;
}

TEST(Script, MistakesOfTheTextAreOneSentence) {
  const std::string kHead = "#SBATCH --container-image=busybox\ntrue\n";
  const std::pair<std::string, const char*> kCases[] = {
      {"",
       "line 1: this is no batch script: it does not begin with #! (begin it with #!/bin/bash)"},
      {"#!\n" + kHead,
       "line 1: names no interpreter behind #! (begin the script with #!/bin/bash)"},
      {"#!/usr/bin/perl\n" + kHead,
       "line 1: the interpreter 'perl' cannot be given a script as argument (use sh, bash, dash, "
       "zsh, ksh, fish or python)"},
      {"#!/bin/sh\r\n" + kHead,
       "line 1: ends as lines do on DOS (convert the script with dos2unix)"},
      {std::string("#!/bin/sh\n\0", 11), "the script holds a NUL byte: it is no text"},
      {"#!/bin/sh\n" + std::string(200'000, '#'),
       "the script has 200010 bytes; at most 131071 are sent (put what is long into the image or "
       "on a mount)"},
      {"#!/bin/sh\ntrue\n#SBATCH --container-image=busybox\n",
       "names no image to run in (add #SBATCH --container-image=IMAGE, or give --container-image)"},
      {"#!/bin/sh\n#SBATCH\n", "line 2: has no option behind #SBATCH"}};
  for (const auto& [text, expected] : kCases) {
    auto planned = plan(text);
    EXPECT_EQ(planned.ok() ? "" : planned.error().text(), expected);
  }
}

TEST(Script, TravelsAsAnArgumentOfItsInterpreter) {
  std::string text =
      "#!/usr/bin/env -S python3 -u\n#SBATCH "
      "--container-image=nvcr.io#nvidia/pytorch:24.05\nprint(1)\n";
  auto planned =
      plan_submission({.text = text, .name = "a.py", .arguments = {"x"}}, {}, submitter());
  ASSERT_TRUE(planned.ok()) << planned.error().text();
  EXPECT_EQ(planned->job.spec.image, "nvcr.io/nvidia/pytorch:24.05");
  EXPECT_EQ(planned->job.spec.command,
            (std::vector<std::string>{"/usr/bin/env", "-S", "python3", "-u", "-c", text, "x"}));
  EXPECT_EQ(planned->job.metadata.generateName, "a-py-");
  Source wrap = wrapped("hostname");
  auto other = plan_submission(wrap, {{"container-image", "busybox", 0}}, submitter());
  ASSERT_TRUE(other.ok()) << other.error().text();
  EXPECT_EQ(other->job.spec.command,
            (std::vector<std::string>{"/bin/sh", "-c", "#!/bin/sh\nhostname\n", "wrap"}));
}

TEST(Script, TheCommandLineGoesOverIt) {
  auto planned = plan(script_of("--time=60 -p gpu\n--no-requeue"),
                      {{"time", "5", 0}, {"partition", "vision", 0}, {"requeue", "", 0}});
  ASSERT_TRUE(planned.ok()) << planned.error().text();
  EXPECT_EQ(planned->job.spec.maxRuntime, Millis{300'000});
  EXPECT_EQ(planned->project, "vision");
  EXPECT_TRUE(planned->job.spec.requeue);
  auto refused = plan(script_of(""), {{"qos", "high", 0}});
  EXPECT_EQ(refused.error().text(), "--qos: there are no qualities of service; use --priority");
}

TEST(Script, EnvironmentIsWhatIsExported) {
  auto env = [](std::string_view directives) { return plan(script_of(directives))->job.spec.env; };
  EXPECT_FALSE(env("").contains("SEED"));
  EXPECT_EQ(env("--export=ALL").at("SEED"), "7");
  EXPECT_FALSE(env("--export=ALL").contains("PATH"));
  EXPECT_EQ(env("--export=\"A='x,y',HF_HOME\"").at("A"), "x,y");
  EXPECT_EQ(env("--export=HF_HOME").at("HF_HOME"), "/hf");
  EXPECT_EQ(env("--container-env=PATH").at("PATH"), "/usr/bin");
  auto slurm = env("-n 2 -c 3 -J nightly --mem=1G");
  EXPECT_EQ(slurm.at("SLURM_JOB_NAME"), "nightly");
  EXPECT_EQ(slurm.at("SLURM_SUBMIT_DIR"), "/home/ada/work");
  EXPECT_EQ(slurm.at("SLURM_NTASKS"), "2");
  EXPECT_EQ(slurm.at("SLURM_CPUS_PER_TASK"), "3");
  EXPECT_EQ(slurm.at("SLURM_MEM_PER_NODE"), "1024");
}

TEST(Script, CallsOfSrunAreNoticed) {
  auto planned = plan(
      "#!/bin/bash\n#SBATCH --container-image=busybox\nA=1 exec srun python t.py\necho srun\n");
  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->notes,
            (std::vector<std::string>{"line 3: srun is not in a container unless the image brings "
                                      "it; run the program itself"}));
}

TEST(Patterns, StandForWhatIsKnownAtTheEnd) {
  PatternValues values{.job_id = "15",
                       .array_job_id = "12",
                       .array_index = "3",
                       .node = "n1",
                       .name = "train",
                       .user = "ada"};
  const std::pair<const char*, const char*> kCases[] = {{"slurm-%j.out", "slurm-15.out"},
                                                        {"%A_%a.log", "12_3.log"},
                                                        {"%x.%N.%u", "train.n1.ada"},
                                                        {"%4a-%%", "0003-%"},
                                                        {"logs\\%j", "logs%j"}};
  for (const auto& [pattern, expected] : kCases)
    EXPECT_EQ(*expand_pattern(pattern, values), expected);
}

}  // namespace
}  // namespace tessera::slurm
