// `sacct -P`: one line a job, columns as the headings say.

#include <ctime>
#include <optional>

#include "base/text.h"
#include "simulate/traces.h"

namespace tessera::simulate {

namespace {

// "2026-01-31T12:00:00", in milliseconds as if the clock stood in UTC: only differences count.
std::optional<int64_t> wall_ms(const std::string& text) {
  auto at = parse_instant(cat(text, "Z"));
  return at.ok() ? std::optional(at->ms) : std::nullopt;
}

// "[DD-]HH:MM:SS".
std::optional<int64_t> elapsed_ms(std::string_view text) {
  int64_t days = 0;
  if (size_t dash = text.find('-'); dash != text.npos) {
    auto number = to_int(text.substr(0, dash));
    if (!number) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  int64_t seconds = 0;
  std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  for (const std::string& part : parts) {
    auto number = to_int(part);
    if (!number || *number < 0) return std::nullopt;
    seconds = seconds * 60 + *number;
  }
  return (days * 86'400 + seconds) * 1000;
}

struct Tres {
  int64_t gpus = 0, nodes = 1;
  std::optional<MilliCpu> cpus;
  std::optional<MiB> memory;
  std::string model;
};

// "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1", of all nodes together.
Result<Tres> parse_tres(const Columns& rows, std::string_view column) {
  TRY(std::string text, rows.text(column));
  Tres out;
  for (const std::string& item : split(text, ',')) {
    size_t equals = item.find('=');
    if (equals == item.npos) continue;  // empty
    std::string name = item.substr(0, equals), value = item.substr(equals + 1);
    auto number = to_int(value);
    bool counted = name == "cpu" || name == "node" || name.starts_with("gres/gpu");
    if (counted && (!number || *number < 0))
      return rows.fault(column, cat(quoted(item), " is not an amount"));
    if (name == "cpu") out.cpus = MilliCpu{*number * 1000};
    if (name == "node") out.nodes = std::max<int64_t>(*number, 1);
    if (name == "gres/gpu") out.gpus = *number;
    if (name.starts_with("gres/gpu:")) {
      out.model = name.substr(std::string_view("gres/gpu:").size());
      out.gpus = *number;
    }
    if (name == "mem") {
      auto memory = parse_memory(cat(value, value.find_first_of("KMGTP") != value.npos ? "i" : ""));
      if (!memory.ok()) return rows.fault(column, cat(quoted(item), " is not an amount"));
      out.memory = *memory;
    }
  }
  return out;
}

Result<Submission> read_row(const Columns& rows, std::string_view tres_column) {
  Submission job;
  TRY(std::string id, rows.text("JobID"));
  job.name = cat("job-", lower(replace_all(replace_all(id, "_", "-"), "+", "-")));
  TRY(std::string submit, rows.text("Submit"));
  auto at = wall_ms(submit);
  if (!at)
    return rows.fault("Submit", cat(quoted(submit),
                                    " is not a time like "
                                    "2026-01-31T12:00:00"));
  job.at = Millis{*at};
  if (rows.have({"ElapsedRaw"})) {
    TRY(job.runs.value, rows.scaled("ElapsedRaw", 1000));
  } else {
    TRY(std::string text, rows.text("Elapsed"));
    auto elapsed = elapsed_ms(text);
    if (!elapsed) return rows.fault("Elapsed", cat(quoted(text), " is not a time like 1-02:03:04"));
    job.runs = Millis{*elapsed};
  }
  if (rows.have({"Account"})) {
    TRY(job.project, rows.text("Account"));
  }
  TRY(Tres tres, parse_tres(rows, tres_column));
  job.replicas = tres.nodes;
  if (tres.gpus > 0) job.resources.gpus = MilliGpu{tres.gpus / tres.nodes * 1000};
  if (tres.cpus) job.resources.cpus = MilliCpu{tres.cpus->value / tres.nodes};
  if (tres.memory) job.resources.memory = MiB{tres.memory->value / tres.nodes};
  if (!tres.model.empty()) job.resources.accelerator.emplace().model = tres.model;
  return job;
}

}  // namespace

Status read_sacct(Columns& rows, Workload& workload) {
  std::string_view tres = rows.have({"AllocTRES"}) ? "AllocTRES" : "ReqTRES";
  if (!rows.have({"Submit", tres}) || !(rows.have({"Elapsed"}) || rows.have({"ElapsedRaw"})))
    return error(Code::kInvalid, "line 1: the columns do not say when jobs came and what they held",
                 {}, "run sacct -a -X -P -o JobID,Account,Submit,ElapsedRaw,AllocTRES");
  while (rows.next()) {
    TRY(std::string id, rows.text("JobID"));
    if (id.find('.') != id.npos) continue;  // a step of a job
    TRY(Submission job, read_row(rows, tres));
    if (job.project.empty()) job.project = "default";
    if (job.runs.value > 0) workload.jobs.push_back(std::move(job));
  }
  return Ok;
}

}  // namespace tessera::simulate
