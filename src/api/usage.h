#pragma once
// What accelerators are doing at this moment: measured when asked for, never stored.

#include "api/objects.h"

namespace tessera::api {

// A program that uses an accelerator. One that Tessera did not start has no job.
struct ProcessUsage {
  int64_t pid = 0;
  std::string user;
  std::string command;
  std::optional<MiB> memory;
  std::string job;

  bool operator==(const ProcessUsage&) const = default;
  static constexpr std::string_view kTypeName = "ProcessUsage";
  static constexpr auto fields() {
    return std::tuple(
        field("pid", &ProcessUsage::pid, "Process id on the node.", {.required = true}),
        field("user", &ProcessUsage::user, "Who runs it: a name of the node, or a uid."),
        field("command", &ProcessUsage::command, "Program and arguments."),
        field("memory", &ProcessUsage::memory, "Memory of the device that it holds."),
        field("job", &ProcessUsage::job,
              "The job in whose container it runs, project/name; empty: not started by Tessera."));
  }
};
static_assert(schema::complete<ProcessUsage>());

// What the vendor's library does not tell is left out.
struct AcceleratorUsage {
  std::string accelerator;
  std::string node;
  int64_t index = 0;
  std::string model;
  std::string pciBusId;
  Health health = Health::kHealthy;
  std::string message;
  bool simulated = false;
  std::optional<Percent> fan;
  std::optional<int64_t> temperature;
  std::string performanceState;
  std::optional<int64_t> power;
  std::optional<int64_t> powerLimit;
  MiB memory;
  std::optional<MiB> memoryUsed;
  std::optional<Percent> utilization;
  std::vector<std::string> jobs;
  std::vector<ProcessUsage> processes;

  bool operator==(const AcceleratorUsage&) const = default;
  static constexpr std::string_view kTypeName = "AcceleratorUsage";
  static constexpr auto fields() {
    using A = AcceleratorUsage;
    return std::tuple(
        field("accelerator", &A::accelerator, "UUID of the device.", {.required = true}),
        field("node", &A::node, "Node that it is in."),
        field("index", &A::index, "Position in the node in PCI bus order, from 0."),
        field("model", &A::model, "Name of the product."),
        field("pciBusId", &A::pciBusId, "PCI address."),
        field("health", &A::health, "Fenced devices get no new tasks.", {.required = true}),
        field("message", &A::message, "Why it is fenced."),
        field("simulated", &A::simulated, "No hardware: nothing is measured."),
        field("fan", &A::fan, "Speed of the fan, in percent of its most."),
        field("temperature", &A::temperature, "Of the chip, in degrees Celsius."),
        field("performanceState", &A::performanceState, "P0 (fastest) to P15."),
        field("power", &A::power, "Draw, in watts."),
        field("powerLimit", &A::powerLimit, "Most that it may draw, in watts."),
        field("memory", &A::memory, "Memory that tasks can use."),
        field("memoryUsed", &A::memoryUsed, "Memory that programs hold."),
        field("utilization", &A::utilization,
              "Part of the last moment in which a kernel ran, in percent."),
        field("jobs", &A::jobs, "Jobs that hold it or a slice of it, project/name."),
        field("processes", &A::processes, "Programs that use it, Tessera's and others'."));
  }
};
static_assert(schema::complete<AcceleratorUsage>());

struct Top {
  Instant time;
  std::vector<AcceleratorUsage> accelerators;
  std::vector<std::string> problems;

  bool operator==(const Top&) const = default;
  static constexpr std::string_view kTypeName = "Top";
  static constexpr auto fields() {
    return std::tuple(field("time", &Top::time, "When it was measured."),
                      field("accelerators", &Top::accelerators, "By node and index."),
                      field("problems", &Top::problems, "What could not be measured, and why."));
  }
};
static_assert(schema::complete<Top>());

}  // namespace tessera::api
