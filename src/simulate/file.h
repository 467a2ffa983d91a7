#pragma once
// The YAML of `tessera simulate` as described structs.

#include "api/job.h"
#include "api/objects.h"

namespace tessera::simulate {

using schema::field;

struct Machines {
  std::string name;
  int64_t count = 1;
  int64_t accelerators = 0;
  std::string model = "GPU";
  MiB acceleratorMemory{81920};
  MilliCpu cpus{128'000};
  MiB memory{1 << 20};

  bool operator==(const Machines&) const = default;
  static constexpr std::string_view kTypeName = "Machines";
  static constexpr auto fields() {
    return std::tuple(
        field("name", &Machines::name, "Name, with a number behind it when there are several.",
              {.required = true, .example = "dgx"}),
        field("count", &Machines::count, "How many.", {.minimum = 1, .maximum = 100'000}),
        field("accelerators", &Machines::accelerators, "Of each machine.",
              {.minimum = 0, .maximum = 1024}),
        field("model", &Machines::model, "Of its accelerators."),
        field("acceleratorMemory", &Machines::acceleratorMemory, "Of each accelerator.",
              {.minimum = 1}),
        field("cpus", &Machines::cpus, "CPU cores.", {.minimum = 1}),
        field("memory", &Machines::memory, "Memory.", {.minimum = 1}));
  }
};
static_assert(schema::complete<Machines>());

struct Share {
  std::string name;
  api::Quota quota;

  bool operator==(const Share&) const = default;
  static constexpr std::string_view kTypeName = "Share";
  static constexpr auto fields() {
    return std::tuple(field("name", &Share::name, "Of the project.", {.required = true}),
                      field("quota", &Share::quota, "What it may hold."));
  }
};
static_assert(schema::complete<Share>());

struct Jobs {
  std::string name;
  std::string project = "default";
  int64_t count = 1;
  Millis at;
  Millis every;
  Millis runs;
  api::Resources resources;
  int64_t replicas = 1;
  int64_t priority = 0;

  bool operator==(const Jobs&) const = default;
  static constexpr std::string_view kTypeName = "Jobs";
  static constexpr auto fields() {
    return std::tuple(
        field("name", &Jobs::name, "Name, with a number behind it when there are several.",
              {.required = true, .example = "train"}),
        field("project", &Jobs::project, "Whose they are."),
        field("count", &Jobs::count, "How many.", {.minimum = 1, .maximum = 1'000'000}),
        field("at", &Jobs::at, "When the first is submitted, from the beginning.",
              {.minimum = 0, .example = "10m"}),
        field("every", &Jobs::every, "Time from one to the next.", {.minimum = 0}),
        field("runs", &Jobs::runs, "How long each runs.",
              {.required = true, .minimum = 1, .example = "2h"}),
        field("resources", &Jobs::resources, "What each replica holds, as in a job."),
        field("replicas", &Jobs::replicas, "Equal tasks that start together.",
              {.minimum = 1, .maximum = 1024}),
        field("priority", &Jobs::priority, "Higher goes first.",
              {.minimum = -1000, .maximum = 1000}));
  }
};
static_assert(schema::complete<Jobs>());

struct File {
  std::vector<Machines> machines;
  std::vector<Share> projects;
  std::vector<Jobs> jobs;

  bool operator==(const File&) const = default;
  static constexpr std::string_view kTypeName = "Simulation";
  static constexpr auto fields() {
    return std::tuple(
        field("machines", &File::machines, "What there is.", {.maximum = 10'000}),
        field("projects", &File::projects, "Those with a quota.", {.maximum = 10'000}),
        field("jobs", &File::jobs, "What is submitted.", {.maximum = 1'000'000}));
  }
};
static_assert(schema::complete<File>());

}  // namespace tessera::simulate
