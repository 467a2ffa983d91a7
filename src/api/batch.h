#pragma once
// What makes a job more than one container that starts at once: arrays, dependencies, warnings
// before the end, and how the tasks of a gang find each other.

#include "api/metadata.h"
#include "base/result.h"

namespace tessera::api {

// Slurm's default: a larger sweep is better told by one index that the program reads more from.
inline constexpr int64_t kArrayLimit = 1'000;
// Far beyond any sweep, and small enough for every language's plain integer.
inline constexpr int64_t kArrayIndexLimit = 4'000'000;

struct JobArray {
  std::string indices;
  std::optional<int64_t> parallel;

  bool operator==(const JobArray&) const = default;
  static constexpr std::string_view kTypeName = "JobArray";
  static constexpr auto fields() {
    return std::tuple(
        field("indices", &JobArray::indices,
              "Numbers and ranges with an optional step: each is a task of its own.",
              {.required = true, .maximum = 4096, .example = "0-15:4,20"}),
        field("parallel", &JobArray::parallel, "At most so many tasks hold devices at a time.",
              {.minimum = 1, .maximum = kArrayLimit}));
  }
};
static_assert(schema::complete<JobArray>());

// The indices in their order, each once; kInvalid in one sentence.
Result<std::vector<int64_t>> parse_indices(std::string_view text);

// When a job that depends on another may start.
enum class DependencyCondition { kAfterOk, kAfterNotOk, kAfterAny, kAfter };
constexpr std::array<std::string_view, 4> enum_names(DependencyCondition) {
  return {"afterok", "afternotok", "afterany", "after"};
}

struct Dependency {
  std::string job;
  DependencyCondition condition = DependencyCondition::kAfterOk;
  std::optional<int64_t> index;
  Millis delay;

  bool operator==(const Dependency&) const = default;
  static constexpr std::string_view kTypeName = "Dependency";
  static constexpr auto fields() {
    return std::tuple(
        field("job", &Dependency::job,
              "Name of a job of the same project, which must exist already.",
              {.required = true, .format = schema::Format::kName}),
        field("condition", &Dependency::condition,
              "afterok: it has succeeded; afternotok: it has ended otherwise; afterany: it has "
              "ended; after: it has started or ended.",
              {.example = "afterok"}),
        field("index", &Dependency::index, "Only this task of an array; all of it when empty.",
              {.minimum = 0, .maximum = kArrayIndexLimit}),
        field("delay", &Dependency::delay, "Wait so long after the condition has come true.",
              {.minimum = 0, .maximum = 31'536'000'000, .example = "10m"}));
  }
};
static_assert(schema::complete<Dependency>());

enum class DependencyState { kWaiting, kFulfilled, kNever };
constexpr std::array<std::string_view, 3> enum_names(DependencyState) {
  return {"Waiting", "Fulfilled", "Never"};
}

// What became of one entry of spec.dependsOn, in the same order.
struct DependencyStatus {
  std::string job;
  std::string uid;
  DependencyState state = DependencyState::kWaiting;

  bool operator==(const DependencyStatus&) const = default;
  static constexpr std::string_view kTypeName = "DependencyStatus";
  static constexpr auto fields() {
    return std::tuple(
        field("job", &DependencyStatus::job, "Name of the other job."),
        field("uid", &DependencyStatus::uid,
              "Its uid: a later job of the same name is another one."),
        field("state", &DependencyStatus::state, "Whether the condition has come true."));
  }
};
static_assert(schema::complete<DependencyStatus>());

struct EndWarning {
  std::string signal;
  Millis before{60'000};
  bool firstProcessOnly = false;

  bool operator==(const EndWarning&) const = default;
  static constexpr std::string_view kTypeName = "EndWarning";
  static constexpr auto fields() {
    return std::tuple(
        field("signal", &EndWarning::signal, "Signal to send.",
              {.required = true, .maximum = 16, .example = "SIGUSR1"}),
        field("before", &EndWarning::before, "So long before the maximum runtime ends.",
              {.minimum = 0, .example = "2m"}),
        field("firstProcessOnly", &EndWarning::firstProcessOnly,
              "Only to the container's first process (Slurm's B:), not to all."));
  }
};
static_assert(schema::complete<EndWarning>());

// What RANK and WORLD_SIZE count: programs disagree, so it is said.
enum class RankStyle { kProcess, kNode };
constexpr std::array<std::string_view, 2> enum_names(RankStyle) {
  return {"Process", "Node"};
}

struct Rendezvous {
  RankStyle ranks = RankStyle::kProcess;
  int64_t port = 29'500;
  std::optional<int64_t> processes;

  bool operator==(const Rendezvous&) const = default;
  static constexpr std::string_view kTypeName = "Rendezvous";
  static constexpr auto fields() {
    return std::tuple(
        field("ranks", &Rendezvous::ranks,
              "Process: each replica is one process of the program, and RANK and WORLD_SIZE count "
              "replicas, as torch.distributed reads them. Node: each replica runs a launcher such "
              "as torchrun that starts several, and RANK and WORLD_SIZE count nodes."),
        field("port", &Rendezvous::port, "MASTER_PORT.", {.minimum = 1, .maximum = 65'535}),
        field("processes", &Rendezvous::processes,
              "With ranks: Node, processes for each replica; one for each accelerator when empty.",
              {.minimum = 1, .maximum = 4'096}));
  }
};
static_assert(schema::complete<Rendezvous>());

// "job-3": the host name of a task's container, by which the members of a gang find each other. A
// valid one of at most 63 characters.
std::string make_host_name(const std::string& job, int64_t index);

// How the tasks of an array stand.
struct ArrayStatus {
  int64_t queued = 0;
  int64_t running = 0;
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t cancelled = 0;

  bool operator==(const ArrayStatus&) const = default;
  static constexpr std::string_view kTypeName = "ArrayStatus";
  static constexpr auto fields() {
    return std::tuple(field("queued", &ArrayStatus::queued, "Tasks that wait."),
                      field("running", &ArrayStatus::running, "Tasks that start, run or stop."),
                      field("succeeded", &ArrayStatus::succeeded, "Tasks that have succeeded."),
                      field("failed", &ArrayStatus::failed, "Tasks that have failed."),
                      field("cancelled", &ArrayStatus::cancelled, "Tasks that were cancelled."));
  }
};
static_assert(schema::complete<ArrayStatus>());

}  // namespace tessera::api
