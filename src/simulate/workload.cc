#include "simulate/workload.h"

#include <algorithm>

#include "api/codec_impl.h"
#include "base/text.h"
#include "simulate/file.h"
#include "simulate/traces.h"
#include "wire/yaml.h"

TESSERA_CODEC(tessera::simulate::File)

namespace tessera::simulate {

namespace {

std::string numbered(const std::string& name, int64_t i, int64_t count) {
  return count == 1 ? name : cat(name, "-", i);
}

Status read_yaml(std::string_view text, Workload& workload) {
  TRY(Value tree, wire::parse_yaml(text));
  TRY(File file, schema::decode<File>(tree));
  for (const Machines& group : file.machines)
    for (int64_t i = 0; i < group.count; ++i)
      workload.machines.push_back({.name = numbered(group.name, i, group.count),
                                   .accelerators = group.accelerators,
                                   .model = group.model,
                                   .accelerator_memory = group.acceleratorMemory,
                                   .cpus = group.cpus,
                                   .memory = group.memory});
  for (const Share& share : file.projects) workload.projects[share.name] = share.quota;
  for (const Jobs& group : file.jobs)
    for (int64_t i = 0; i < group.count; ++i)
      workload.jobs.push_back({.name = numbered(group.name, i, group.count),
                               .project = group.project,
                               .at = group.at + group.every * i,
                               .runs = group.runs,
                               .resources = group.resources,
                               .replicas = group.replicas,
                               .priority = group.priority});
  return Ok;
}

struct Format {
  std::initializer_list<std::string_view> columns;
  char separator;
  Status (*read)(Columns&, Workload&);
};
// By the headings that each has; those of the narrowest first.
const Format kFormats[] = {
    {{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, ',', read_openb_nodes},
    {{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, ',', read_openb_pods},
    {{"job_id", "num_gpu", "submit_time", "duration"}, ',', read_muri},
    {{"job id", "arrival time (sec)", "size", "duration (sec)"}, ',', read_rfold},
    {{"JobID"}, '|', read_sacct},
};

// Splits a job that no machine has enough accelerators for.
void make_gang(Submission& job, int64_t most) {
  int64_t wanted = job.resources.gpus ? job.resources.gpus->value / 1000 : 0;
  if (wanted <= most || most == 0) return;
  int64_t parts = (wanted + most - 1) / most;
  while (wanted % parts != 0) ++parts;
  job.replicas *= parts;
  job.resources.gpus = MilliGpu{wanted / parts * 1000};
  auto part = [&](auto& amount) {
    if (amount) amount->value /= parts;
  };
  part(job.resources.cpus);
  part(job.resources.memory);
}

}  // namespace

Status read_file(std::string_view text, Workload& workload) {
  for (const Format& format : kFormats) {
    Columns rows(text.substr(0, text.find('\n')), format.separator);
    if (!rows.have(format.columns)) continue;
    Columns all(text, format.separator);
    return format.read(all, workload);
  }
  return read_yaml(text, workload);
}

Status add_machines(std::string_view text, Workload& workload) {
  std::vector<std::string> parts = split(text, 'x');
  std::optional<int64_t> count = to_int(parts[0]);
  std::optional<int64_t> each = parts.size() > 2 ? to_int(parts[1]) : std::nullopt;
  constexpr int64_t kMostMachines = 100'000, kMostAccelerators = 1024;
  if (!count || !each || *count < 1 || *count > kMostMachines || *each < 1 ||
      *each > kMostAccelerators)
    return error(Code::kInvalid, cat(quoted(text), " does not say what to add"), {},
                 "write it like 2x8xH100: two machines with eight H100 each");
  Machines defaults;
  std::string model = join(std::span(parts).subspan(2), "x");
  std::string group = cat("added-", lower(model));
  int64_t before = std::count_if(workload.machines.begin(), workload.machines.end(),
                                 [&](const Machine& m) { return m.name.starts_with(group); });
  for (int64_t i = before; i < before + *count; ++i)
    workload.machines.push_back({.name = cat(group, "-", i),
                                 .accelerators = *each,
                                 .model = model,
                                 .accelerator_memory = defaults.acceleratorMemory,
                                 .cpus = defaults.cpus,
                                 .memory = defaults.memory});
  return Ok;
}

Status set_value(std::string_view text, Workload& workload) {
  constexpr std::string_view kPrefix = "project/", kMax = ".quota.max=";
  size_t at = text.find(kMax);
  std::string_view value = at == text.npos ? "" : text.substr(at + kMax.size());
  auto amount = parse_milli(value);
  if (!text.starts_with(kPrefix) || at == text.npos || at <= kPrefix.size() || !amount.ok())
    return error(Code::kInvalid, cat(quoted(text), " sets nothing that can be set"), {},
                 "write it like project/vision.quota.max=16");
  std::string project(text.substr(kPrefix.size(), at - kPrefix.size()));
  workload.projects[project].max = MilliGpu{*amount};
  return Ok;
}

Status complete(Workload& workload) {
  if (workload.machines.empty())
    return error(Code::kInvalid, "the files describe no machines", {},
                 "add them with --add-nodes, like 2x8xH100, or a file that has them");
  if (workload.jobs.empty())
    return error(Code::kInvalid, "the files describe no jobs that ran", {},
                 "add a file that has them");
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const Submission& a, const Submission& b) { return a.at < b.at; });
  int64_t most = 0;
  for (const Machine& machine : workload.machines) most = std::max(most, machine.accelerators);
  Millis first = workload.jobs.front().at;
  for (Submission& job : workload.jobs) {
    job.at -= first;
    make_gang(job, most);
  }
  return Ok;
}

}  // namespace tessera::simulate
