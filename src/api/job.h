#pragma once
// Job: what a user asked for. Task: one container instance of it, with its attempts.

#include "api/batch.h"
#include "api/container.h"

namespace tessera::api {

// Phases of a task, and of the job that its tasks add up to. The moves between them are one table,
// core/lifecycle.h; why a task stopped is a separate field (Reason).
enum class Phase { kQueued, kStarting, kRunning, kStopping, kSucceeded, kFailed, kCancelled };
constexpr std::array<std::string_view, 7> enum_names(Phase) {
  return {"Queued", "Starting", "Running", "Stopping", "Succeeded", "Failed", "Cancelled"};
}
constexpr bool is_terminal(Phase phase) {
  return phase >= Phase::kSucceeded;
}
constexpr bool holds_devices(Phase phase) {
  return phase == Phase::kStarting || phase == Phase::kRunning || phase == Phase::kStopping;
}

enum class Reason {
  kNone,
  kCompleted,
  kExitCode,
  kSignal,
  kOomKilled,
  kMaxRuntime,
  kCancelled,
  kImagePull,
  kStartFailed,
  kLost,
  kPreempted,
  kGangMember,
  kAcceleratorFault,
  kDependencyNeverSatisfied,
};
constexpr std::array<std::string_view, 14> enum_names(Reason) {
  return {"",
          "Completed",
          "ExitCode",
          "Signal",
          "OOMKilled",
          "MaxRuntime",
          "Cancelled",
          "ImagePull",
          "StartFailed",
          "Lost",
          "Preempted",
          "GangMember",
          "AcceleratorFault",
          "DependencyNeverSatisfied"};
}

enum class PullPolicy { kIfNotPresent, kAlways, kNever };
constexpr std::array<std::string_view, 3> enum_names(PullPolicy) {
  return {"IfNotPresent", "Always", "Never"};
}

struct AcceleratorSelector {
  std::string vendor;
  std::string model;
  std::optional<MiB> minMemory;
  std::vector<std::string> devices;

  bool operator==(const AcceleratorSelector&) const = default;
  static constexpr std::string_view kTypeName = "AcceleratorSelector";
  static constexpr auto fields() {
    return std::tuple(
        field("vendor", &AcceleratorSelector::vendor,
              "nvidia, amd, ascend, tpu, intel or sim; any when empty.", {.example = "nvidia"}),
        field("model", &AcceleratorSelector::model, "Part of the model's name, any case.",
              {.example = "H100"}),
        field("minMemory", &AcceleratorSelector::minMemory, "Least memory of the whole device.",
              {.minimum = 1, .example = "40Gi"}),
        field("devices", &AcceleratorSelector::devices,
              "Exactly these devices of a node, by UUID or index.",
              {.maximum = 64, .example = "GPU-…"}));
  }
};
static_assert(schema::complete<AcceleratorSelector>());

struct Resources {
  std::optional<MilliGpu> gpus;
  std::optional<MiB> gpuMemory;
  std::optional<Percent> gpuCompute;
  std::optional<AcceleratorSelector> accelerator;
  std::optional<MilliCpu> cpus;
  std::optional<MiB> memory;
  std::optional<MiB> swap;
  std::optional<MiB> shm;
  std::optional<int64_t> pids;
  std::string cpuset;

  bool operator==(const Resources&) const = default;
  static constexpr std::string_view kTypeName = "Resources";
  static constexpr auto fields() {
    return std::tuple(
        field("gpus", &Resources::gpus,
              "Accelerators for each replica: whole ones (2), or a part of one (0.25). None when "
              "empty.",
              {.minimum = 0, .maximum = 64'000, .example = "2"}),
        field("gpuMemory", &Resources::gpuMemory,
              "Memory of a slice on each device; the devices are then shared.",
              {.minimum = 1, .example = "10Gi"}),
        field("gpuCompute", &Resources::gpuCompute,
              "Compute share of a slice, in percent of each device.",
              {.minimum = 1, .maximum = 100, .example = "30"}),
        field("accelerator", &Resources::accelerator, "Which devices will do; any when empty."),
        field("cpus", &Resources::cpus,
              "CPU cores; the fair part of the node for its accelerators when empty.",
              {.minimum = 10, .maximum = 4'096'000, .example = "8"}),
        field("memory", &Resources::memory,
              "Memory limit; the fair part of the node for its accelerators when empty.",
              {.minimum = 6, .example = "64Gi"}),
        field("swap", &Resources::swap, "Swap space beside the memory; none when empty.",
              {.minimum = 0, .example = "4Gi"}),
        field("shm", &Resources::shm, "Size of /dev/shm; half of the memory when empty.",
              {.minimum = 1, .example = "16Gi"}),
        field("pids", &Resources::pids, "Most processes and threads; 32768 when empty.",
              {.minimum = 1, .maximum = 4'194'304}),
        field("cpuset", &Resources::cpuset,
              "Only on these CPUs of the node, as numbers and ranges; any when empty.",
              {.maximum = 256, .example = "0-3,8"}));
  }
};
static_assert(schema::complete<Resources>());

struct Volume {
  std::string source;
  std::string target;
  bool readOnly = false;

  bool operator==(const Volume&) const = default;
  static constexpr std::string_view kTypeName = "Volume";
  static constexpr auto fields() {
    return std::tuple(
        field("source", &Volume::source,
              "Folder or file of the node; must lie under a path that the project allows "
              "(spec.hostPaths).",
              {.required = true,
               .format = schema::Format::kAbsolutePath,
               .example = "/data/imagenet"}),
        field("target", &Volume::target, "Where it appears in the container.",
              {.required = true, .format = schema::Format::kAbsolutePath, .example = "/data"}),
        field("readOnly", &Volume::readOnly, "Forbid writing."));
  }
};
static_assert(schema::complete<Volume>());

// What Linux takes as one argument or environment variable (MAX_ARG_STRLEN, execve(2)).
inline constexpr int64_t kArgumentLimit = 131'072;

struct JobSpec {
  std::string image;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::string workingDir;
  std::string user;
  std::vector<std::string> groups;
  bool init = false;
  Resources resources;
  int64_t replicas = 1;
  std::optional<Rendezvous> rendezvous;
  std::optional<JobArray> array;
  std::vector<Dependency> dependsOn;
  std::string singleton;
  std::optional<Instant> startAfter;
  int64_t priority = 0;
  std::optional<Millis> maxRuntime;
  std::optional<EndWarning> endWarning;
  int64_t retries = 0;
  bool requeue = false;
  Millis backoff{10'000};
  RestartPolicy restartPolicy = RestartPolicy::kNever;
  std::string stopSignal;
  Millis stopGrace{30'000};
  std::vector<Volume> volumes;
  std::vector<TmpfsMount> tmpfs;
  std::vector<DeviceMapping> devices;
  std::vector<Ulimit> ulimits;
  std::vector<SecretUse> secrets;
  NetworkSettings network;
  std::vector<Port> ports;
  bool publishAll = false;
  SecuritySettings security;
  std::optional<HealthCheck> healthCheck;
  bool tty = false;
  bool stdin_ = false;
  bool slurmEnv = false;
  PullPolicy pullPolicy = PullPolicy::kIfNotPresent;
  std::string platform;
  std::optional<Millis> removeAfter;

  bool operator==(const JobSpec&) const = default;
  static constexpr std::string_view kTypeName = "JobSpec";
  static constexpr auto fields() {
    return std::tuple(
        field("image", &JobSpec::image, "Image reference, as docker writes it.",
              {.required = true, .example = "busybox:latest"}),
        field("command", &JobSpec::command,
              "Program and arguments in place of the image's entrypoint.",
              {.maximum = 4096, .value_maximum = kArgumentLimit}),
        field("args", &JobSpec::args, "Arguments in place of the image's cmd.",
              {.maximum = 4096, .value_maximum = kArgumentLimit}),
        field("env", &JobSpec::env, "Environment variables, over the image's.",
              {.value_maximum = kArgumentLimit, .key_format = schema::Format::kEnvName}),
        field("workingDir", &JobSpec::workingDir, "Folder to start in; the image's when empty.",
              {.format = schema::Format::kAbsolutePath}),
        field("user", &JobSpec::user, "user[:group], names or numbers; the image's when empty.",
              {.maximum = 256, .example = "1000:1000"}),
        field("groups", &JobSpec::groups, "Further groups of the user, names or numbers.",
              {.maximum = 64, .value_maximum = 256, .example = "video"}),
        field("init", &JobSpec::init,
              "Process 1 is a small init that passes signals on and collects dead children, the "
              "program its child."),
        field("resources", &JobSpec::resources, "What each replica holds while it runs."),
        field("replicas", &JobSpec::replicas,
              "Equal tasks that start together or not at all (a gang).",
              {.minimum = 1, .maximum = 1024}),
        field("rendezvous", &JobSpec::rendezvous,
              "How the replicas find each other: MASTER_ADDR, RANK and their like. A gang has it "
              "in any case, a single replica when it is given."),
        field("array", &JobSpec::array,
              "Indexed copies, each queued, placed, retried and ended on its own."),
        field("dependsOn", &JobSpec::dependsOn,
              "Starts only when all of these have come true; ends at once when one never can.",
              {.maximum = 64}),
        field("singleton", &JobSpec::singleton,
              "Of the project's jobs with the same word here only one runs at a time, in the order "
              "of submission.",
              {.maximum = 253, .example = "nightly"}),
        field("startAfter", &JobSpec::startAfter, "Starts at this time at the earliest."),
        field("priority", &JobSpec::priority,
              "Higher runs first; equal ones in the order of submission.",
              {.minimum = -1000, .maximum = 1000}),
        field("maxRuntime", &JobSpec::maxRuntime,
              "Stopped when it has run this long. No limit when empty.",
              {.minimum = 1000, .example = "4h"}),
        field("endWarning", &JobSpec::endWarning,
              "A signal before the maximum runtime ends, for a checkpoint."),
        field("retries", &JobSpec::retries, "How often a failed attempt is tried again.",
              {.minimum = 0, .maximum = 1'000}),
        field("requeue", &JobSpec::requeue,
              "Run it again when its node or container was lost or it was preempted, without "
              "counting that as a failure."),
        field("backoff", &JobSpec::backoff,
              "Wait before the first retry; doubled for each further one, at most an hour (a "
              "minute under a restartPolicy).",
              {.minimum = 0, .maximum = 3'600'000, .example = "10s"}),
        field("restartPolicy", &JobSpec::restartPolicy,
              "Never: only retries count. OnFailure: a program that has run and failed, or was "
              "lost in a reboot, is started again without limit. Always: also one that ended by "
              "itself. A stop ends all of them."),
        field("stopSignal", &JobSpec::stopSignal,
              "First signal of a stop; the image's or SIGTERM when empty.",
              {.maximum = 16, .example = "SIGUSR1"}),
        field("stopGrace", &JobSpec::stopGrace,
              "Time between the stop signal and SIGKILL, for a checkpoint.",
              {.minimum = 0, .maximum = 86'400'000, .example = "2m"}),
        field("volumes", &JobSpec::volumes, "Folders of the node to mount.", {.maximum = 64}),
        field("tmpfs", &JobSpec::tmpfs, "Empty folders in memory.", {.maximum = 64}),
        field("devices", &JobSpec::devices, "Devices of the node that are no accelerators.",
              {.maximum = 64}),
        field("ulimits", &JobSpec::ulimits, "Limits of each process.", {.maximum = 16}),
        field("secrets", &JobSpec::secrets,
              "Values of secrets, as environment variables or as files in memory.",
              {.maximum = 64}),
        field("network", &JobSpec::network, "Its network and names."),
        field("ports", &JobSpec::ports, "Ports of the program to publish on the node.",
              {.maximum = 256}),
        field("publishAll", &JobSpec::publishAll,
              "Publish each port that the image exposes, on free ports of 127.0.0.1."),
        field("security", &JobSpec::security, "Rights beyond and below the usual ones."),
        field("healthCheck", &JobSpec::healthCheck,
              "How to see that it is well; the image's when empty."),
        field("tty", &JobSpec::tty, "Give the container a terminal."),
        field("stdin", &JobSpec::stdin_, "Keep the container's standard input open for attach."),
        field("slurmEnv", &JobSpec::slurmEnv,
              "Set SLURM_JOB_ID, SLURM_ARRAY_TASK_ID and their like, as a batch script expects."),
        field("pullPolicy", &JobSpec::pullPolicy, "When to ask the registry for the image."),
        field("platform", &JobSpec::platform, "Platform of the image; must be the node's.",
              {.maximum = 64, .example = "linux/amd64"}),
        field("removeAfter", &JobSpec::removeAfter,
              "Delete the finished job and its logs after this time; kept when empty.",
              {.minimum = 0, .example = "1h"}));
  }
};
static_assert(schema::complete<JobSpec>());

// The indices of the job's tasks: those of its array, or of its replicas.
std::vector<int64_t> task_indices(const JobSpec& spec);

// Why a queued job does not run yet.
struct Waiting {
  std::string message;

  bool operator==(const Waiting&) const = default;
  static constexpr std::string_view kTypeName = "Waiting";
  static constexpr auto fields() {
    return std::tuple(field("message", &Waiting::message,
                            "The reason, in one sentence. 'tessera why' adds the place in the "
                            "queue and what would help."));
  }
};
static_assert(schema::complete<Waiting>());

struct JobStatus {
  Phase phase = Phase::kQueued;
  Reason reason = Reason::kNone;
  std::string message;
  std::optional<int64_t> exitCode;
  std::optional<Waiting> waiting;
  std::optional<ArrayStatus> array;
  std::vector<DependencyStatus> dependencies;
  int64_t number = 0;
  int64_t attempts = 0;
  std::string node;
  std::vector<std::string> accelerators;
  ContainerHealth health = ContainerHealth::kNone;
  std::vector<Port> ports;
  std::optional<Instant> startTime;
  std::optional<Instant> endTime;

  bool operator==(const JobStatus&) const = default;
  static constexpr std::string_view kTypeName = "JobStatus";
  static constexpr auto fields() {
    return std::tuple(
        field("phase", &JobStatus::phase, "Where the job stands.", {.required = true}),
        field("reason", &JobStatus::reason, "Why it ended or was stopped, in one word."),
        field("message", &JobStatus::message, "The same in one sentence."),
        field("exitCode", &JobStatus::exitCode,
              "Exit code of the first task that failed, else 0; 128 + signal when a signal ended "
              "it."),
        field("waiting", &JobStatus::waiting, "Why it does not run yet."),
        field("array", &JobStatus::array, "How the tasks of an array stand."),
        field("dependencies", &JobStatus::dependencies, "What became of spec.dependsOn.",
              {.maximum = 64}),
        field("number", &JobStatus::number,
              "Number of the submission, unique in the cluster: Slurm's job id."),
        field("attempts", &JobStatus::attempts, "Attempts so far."),
        field("node", &JobStatus::node, "Node of the first task."),
        field("accelerators", &JobStatus::accelerators, "Devices that the job holds now, by UUID."),
        field("health", &JobStatus::health, "What its health checks say, the worst replica's."),
        field("ports", &JobStatus::ports, "Where its ports are published now."),
        field("startTime", &JobStatus::startTime, "When the current attempt began to run."),
        field("endTime", &JobStatus::endTime, "When it ended."));
  }
};
static_assert(schema::complete<JobStatus>());

struct Job {
  Metadata metadata;
  JobSpec spec;
  JobStatus status;

  bool operator==(const Job&) const = default;
  static constexpr std::string_view kTypeName = "Job";
  static constexpr auto fields() {
    return std::tuple(field("metadata", &Job::metadata, "Name, project, labels."),
                      field("spec", &Job::spec, "What the user wants.", {.required = true}),
                      field("status", &Job::status, "What is.", {.read_only = true}));
  }
};
static_assert(schema::complete<Job>());

// Whether the job, or a task of its array, waits in the queue.
inline bool waits(const Job& job) {
  return job.status.phase == Phase::kQueued || (job.status.array && job.status.array->queued > 0);
}

// What a task holds of one device. Exclusive: all of it, and memory and compute say how much that
// is.
struct Allocation {
  std::string accelerator;
  bool exclusive = true;
  MiB memory;
  Percent compute;

  bool operator==(const Allocation&) const = default;
  static constexpr std::string_view kTypeName = "Allocation";
  static constexpr auto fields() {
    return std::tuple(
        field("accelerator", &Allocation::accelerator, "UUID of the device.", {.required = true}),
        field("exclusive", &Allocation::exclusive, "No one else gets a part of the device."),
        field("memory", &Allocation::memory, "Memory of the device held."),
        field("compute", &Allocation::compute, "Compute of the device held, in percent."));
  }
};
static_assert(schema::complete<Allocation>());

// Why a task in Stopping is being stopped, and so where it goes once its container is gone.
enum class StopIntent { kNone, kCancel, kFail, kRequeue };
constexpr std::array<std::string_view, 4> enum_names(StopIntent) {
  return {"", "Cancel", "Fail", "Requeue"};
}

struct Task {
  std::string id;
  std::string job;
  std::string project;
  std::string jobUid;
  int64_t index = 0;
  int64_t submission = 0;
  int64_t attempt = 0;
  Phase phase = Phase::kQueued;
  Reason reason = Reason::kNone;
  std::string message;
  std::string node;
  std::vector<Allocation> allocations;
  MilliCpu cpus;
  MiB memory;
  std::optional<int64_t> exitCode;
  int64_t failures = 0;
  int64_t requeues = 0;
  StopIntent stopIntent = StopIntent::kNone;
  ContainerHealth health = ContainerHealth::kNone;
  std::vector<Port> ports;
  std::optional<Instant> notBefore;
  std::optional<Instant> stopAt;
  std::optional<Instant> warnAt;
  std::optional<Instant> startTime;
  std::optional<Instant> endTime;

  bool operator==(const Task&) const = default;
  static constexpr std::string_view kTypeName = "Task";
  static constexpr auto fields() {
    return std::tuple(
        field("id", &Task::id, "Unique: the job's uid and the index.", {.required = true}),
        field("job", &Task::job, "Name of the job."),
        field("project", &Task::project, "Its project."),
        field("jobUid", &Task::jobUid, "Its uid."),
        field("index", &Task::index, "Number of the replica, from 0, or index in the array."),
        field("submission", &Task::submission,
              "Number of the job's submission: the order among equal priorities."),
        field("attempt", &Task::attempt,
              "Generation of the container: grows with each placement; older ones are fenced."),
        field("phase", &Task::phase, "Where the task stands.", {.required = true}),
        field("reason", &Task::reason, "Why it ended or is being stopped."),
        field("message", &Task::message, "The same in one sentence."),
        field("node", &Task::node, "Node it is placed on."),
        field("allocations", &Task::allocations, "Devices or slices that it holds."),
        field("cpus", &Task::cpus, "CPU that it holds."),
        field("memory", &Task::memory, "Memory that it holds."),
        field("exitCode", &Task::exitCode,
              "Exit code of the last attempt; 128 + signal when a signal ended it."),
        field("failures", &Task::failures,
              "Failed attempts so far, against spec.retries; under a restartPolicy since it last "
              "ran well."),
        field("requeues", &Task::requeues,
              "How often it went back to the queue without a failure (spec.requeue)."),
        field("stopIntent", &Task::stopIntent, "Where it goes once it has stopped."),
        field("health", &Task::health, "What the health checks of its container say."),
        field("ports", &Task::ports, "Where its ports are published on the node."),
        field("notBefore", &Task::notBefore,
              "Not placed before this time: back-off, spec.startAfter or a dependency's delay."),
        field("stopAt", &Task::stopAt, "When its maximum runtime ends."),
        field("warnAt", &Task::warnAt, "When spec.endWarning is due."),
        field("startTime", &Task::startTime, "When the current attempt began to run."),
        field("endTime", &Task::endTime, "When the last attempt ended."));
  }
};
static_assert(schema::complete<Task>());

}  // namespace tessera::api
