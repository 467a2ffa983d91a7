#include "simulate/traces.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"

namespace tessera::simulate {

Columns::Columns(std::string_view text, char separator)
    : lines_(split(text, '\n')), separator_(separator) {
  std::string_view headings = trim(lines_.front());
  if (headings.starts_with('#')) headings.remove_prefix(1);
  for (const std::string& name : split(headings, separator)) names_.emplace_back(trim(name));
}

bool Columns::have(std::initializer_list<std::string_view> names) const {
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  });
}

bool Columns::next() {
  while (++line_ < lines_.size())
    if (!trim(lines_[line_]).empty()) {
      cells_ = split(trim(lines_[line_]), separator_);
      return true;
    }
  return false;
}

Error Columns::fault(std::string_view column, std::string message) const {
  return {Code::kInvalid, cat("line ", line_ + 1, ", ", column, ": ", message)};
}

Result<std::string> Columns::text(std::string_view column) const {
  auto at = static_cast<size_t>(std::find(names_.begin(), names_.end(), column) - names_.begin());
  if (at >= cells_.size()) return fault(column, "the line has no such column");
  return cells_[at];
}

Result<int64_t> Columns::integer(std::string_view column) const {
  return scaled(column, 1);
}

Result<int64_t> Columns::scaled(std::string_view column, int64_t scale) const {
  TRY(std::string cell, text(column));
  char* end = nullptr;
  double number = std::strtod(cell.c_str(), &end);
  constexpr double kMost = 9e15;  // exact in both types
  double value = std::floor(number * static_cast<double>(scale));
  if (cell.empty() || *end != 0 || !(std::abs(value) < kMost))
    return fault(column, cat(quoted(cell), " is not a number that can be used"));
  return static_cast<int64_t>(value);
}

namespace {

// Traces name no memory of devices; only slices by memory would look at it.
constexpr MiB kDeviceMemory{81920};

api::Resources whole(int64_t accelerators) {
  api::Resources out;
  if (accelerators > 0) out.gpus = MilliGpu{accelerators * 1000};
  return out;
}

// A job that did not run leaves nothing to simulate.
void add(Workload& workload, Submission job) {
  if (job.project.empty()) job.project = "default";
  if (job.runs.value > 0) workload.jobs.push_back(std::move(job));
}

}  // namespace

Status read_openb_nodes(Columns& rows, Workload& workload) {
  while (rows.next()) {
    Machine machine{.accelerator_memory = kDeviceMemory};
    TRY(machine.name, rows.text("sn"));
    TRY(machine.accelerators, rows.integer("gpu"));
    TRY(machine.cpus.value, rows.integer("cpu_milli"));
    TRY(machine.memory.value, rows.integer("memory_mib"));
    TRY(machine.model, rows.text("model"));
    workload.machines.push_back(std::move(machine));
  }
  return Ok;
}

Status read_openb_pods(Columns& rows, Workload& workload) {
  if (!rows.have({"creation_time", "deletion_time", "scheduled_time"}))
    return error(Code::kInvalid,
                 "line 1: this list of pods has no times, so it cannot be simulated", {},
                 "take one with creation_time, scheduled_time and deletion_time");
  while (rows.next()) {
    Submission job;
    TRY(job.name, rows.text("name"));
    TRY(job.at.value, rows.scaled("creation_time", 1000));
    TRY(int64_t end, rows.scaled("deletion_time", 1000));
    TRY(std::string scheduled, rows.text("scheduled_time"));
    if (scheduled.empty()) continue;  // it never ran
    TRY(int64_t start, rows.scaled("scheduled_time", 1000));
    job.runs = Millis{end - start};
    TRY(int64_t gpus, rows.integer("num_gpu"));
    TRY(int64_t milli, gpus == 0 ? Result<int64_t>(0) : rows.integer("gpu_milli"));
    job.resources.gpus = gpus > 0 ? std::optional(MilliGpu{gpus * milli}) : std::nullopt;
    TRY(int64_t cpus, rows.integer("cpu_milli"));
    TRY(int64_t memory, rows.integer("memory_mib"));
    job.resources.cpus = MilliCpu{cpus};
    job.resources.memory = MiB{memory};
    TRY(std::string model, rows.text("gpu_spec"));
    if (model.find('|') != std::string::npos)
      return rows.fault("gpu_spec", cat(quoted(model),
                                        " names several models; a job can ask for "
                                        "one"));
    if (!model.empty()) job.resources.accelerator.emplace().model = model;
    add(workload, std::move(job));
  }
  return Ok;
}

Status read_muri(Columns& rows, Workload& workload) {
  while (rows.next()) {
    Submission job;
    TRY(std::string id, rows.text("job_id"));
    job.name = cat("job-", id);
    TRY(job.at.value, rows.integer("submit_time"));
    TRY(job.runs.value, rows.integer("duration"));
    TRY(int64_t gpus, rows.integer("num_gpu"));
    job.resources = whole(gpus);
    add(workload, std::move(job));
  }
  return Ok;
}

Status read_rfold(Columns& rows, Workload& workload) {
  while (rows.next()) {
    Submission job;
    TRY(std::string id, rows.text("job id"));
    job.name = cat("job-", id);
    TRY(job.at.value, rows.scaled("arrival time (sec)", 1000));
    TRY(job.runs.value, rows.scaled("duration (sec)", 1000));
    TRY(int64_t gpus, rows.integer("size"));
    job.resources = whole(gpus);
    add(workload, std::move(job));
  }
  return Ok;
}

}  // namespace tessera::simulate
