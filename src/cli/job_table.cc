#include "cli/job_table.h"

#include <algorithm>

#include "api/envelope.h"
#include "base/text.h"

namespace tessera::cli {

namespace {

using api::Phase;
using api::Reason;

// As docker cuts commands.
constexpr size_t kCommandWidth = 20;

std::string command_text(const api::JobSpec& spec) {
  std::vector<std::string> words = spec.command;
  words.insert(words.end(), spec.args.begin(), spec.args.end());
  if (words.empty()) return "-";
  return cat("\"", shortened(join(words, " "), kCommandWidth), "\"");
}

// As docker has it behind the status.
std::string health_text(api::ContainerHealth health) {
  std::string word = lower(enum_names(health)[static_cast<size_t>(health)]);
  if (word.empty()) return {};
  return cat(" (", health == api::ContainerHealth::kStarting ? "health: " : "", word, ")");
}

// "127.0.0.1:8888->80/tcp"; what others than the node itself can reach says so (F4).
std::string ports_text(const std::vector<api::Port>& ports) {
  std::vector<std::string> out;
  for (const api::Port& port : ports)
    out.push_back(cat(port.hostAddress, ":", port.hostPort, "->", port.port, "/",
                      enum_names(port.protocol)[static_cast<size_t>(port.protocol)],
                      port.hostAddress.starts_with("127.") ? "" : " (open)"));
  return or_dash(join(out, ", "));
}

std::string status_text(const api::Job& job, Instant now) {
  const api::JobStatus& status = job.status;
  std::string ended = status.endTime ? cat(long_age(now - *status.endTime), " ago") : "";
  switch (status.phase) {
    case Phase::kQueued:
      return cat("Queued ", long_age(now - job.metadata.creationTimestamp));
    case Phase::kStarting:
      return "Starting";
    case Phase::kRunning:
      return cat("Up", status.startTime ? cat(" ", long_age(now - *status.startTime)) : "",
                 health_text(status.health));
    case Phase::kStopping:
      return "Stopping";
    case Phase::kCancelled:
      return cat("Cancelled ", ended);
    case Phase::kSucceeded:
      return cat("Exited (0) ", ended);
    case Phase::kFailed: {
      std::string_view why = enum_names(status.reason)[static_cast<size_t>(status.reason)];
      return cat(status.exitCode ? cat("Exited (", *status.exitCode, ") ") : cat(why, " "), ended);
    }
  }
  return {};
}

// Those that run before those that wait, and those as the queue goes: by priority, then by age.
std::tuple<int, int64_t, Instant> rank(const api::Job& job) {
  if (api::is_terminal(job.status.phase)) return {2, 0, job.metadata.creationTimestamp};
  if (job.status.phase != Phase::kQueued) return {0, 0, job.metadata.creationTimestamp};
  return {1, -job.spec.priority, job.metadata.creationTimestamp};
}

std::string nodes_or_reason(const api::Job& job, const std::set<std::string>& nodes) {
  const api::JobStatus& status = job.status;
  if (status.phase == Phase::kQueued) {
    std::string why = status.waiting ? status.waiting->message : status.message;
    return cat("(", why.empty() ? "None" : why, ")");
  }
  return or_dash(join(std::vector<std::string>(nodes.begin(), nodes.end()), ","));
}

// "sweep[0-9%2]", as squeue writes it.
std::string name_of(const api::Job& job) {
  const std::optional<api::JobArray>& array = job.spec.array;
  if (!array) return job.metadata.name;
  return cat(job.metadata.name, "[", array->indices,
             array->parallel ? cat("%", *array->parallel) : "", "]");
}

// " (3 of 10 over)" of an array that is not.
std::string progress_of(const api::Job& job) {
  const std::optional<api::ArrayStatus>& array = job.status.array;
  if (!array || api::is_terminal(job.status.phase)) return {};
  int64_t over = array->succeeded + array->failed + array->cancelled;
  return cat(" (", over, " of ", over + array->queued + array->running, " over)");
}

std::string user_of(const api::Job& job) {
  auto found = job.metadata.annotations.find(std::string(api::kUserAnnotation));
  return found == job.metadata.annotations.end() ? "-" : found->second;
}

}  // namespace

Table ps_table(const std::vector<api::Job>& jobs, Instant now, bool with_project) {
  Table table{
      .headers = {"NAME", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "GPUS", "NODE"}};
  if (with_project) table.headers.insert(table.headers.begin(), "PROJECT");
  for (const api::Job& job : jobs) {
    std::vector<std::string> row = {name_of(job),
                                    job.spec.image,
                                    command_text(job.spec),
                                    cat(long_age(now - job.metadata.creationTimestamp), " ago"),
                                    cat(trim(status_text(job, now)), progress_of(job)),
                                    ports_text(job.status.ports),
                                    gpus_text(job.spec),
                                    or_dash(job.status.node)};
    if (with_project) row.insert(row.begin(), job.metadata.project);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table queue_table(std::vector<api::Job> jobs, const NodesOfGangs& nodes_of_gangs, Instant now) {
  std::ranges::stable_sort(jobs, {}, rank);
  Table table{.headers = {"JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "GPUS",
                          "NODELIST(REASON)"}};
  for (const api::Job& job : jobs) {
    const api::JobStatus& status = job.status;
    std::set<std::string> nodes;
    if (!status.node.empty()) nodes.insert(status.node);
    if (auto found = nodes_of_gangs.find(job.metadata.uid); found != nodes_of_gangs.end())
      nodes = found->second;
    Millis elapsed;
    if (status.startTime && status.phase != Phase::kQueued)
      elapsed = status.endTime.value_or(now) - *status.startTime;
    table.rows.push_back({cat(status.number), job.metadata.project, name_of(job), user_of(job),
                          state_code(status), clock_time(elapsed),
                          cat(std::max<size_t>(1, nodes.size())), gpus_text(job.spec),
                          nodes_or_reason(job, nodes)});
  }
  return table;
}

std::string state_code(const api::JobStatus& status) {
  switch (status.phase) {
    case Phase::kQueued:
      return "PD";
    case Phase::kStarting:
      return "CF";
    case Phase::kRunning:
      return "R";
    case Phase::kStopping:
      return "CG";
    case Phase::kSucceeded:
      return "CD";
    case Phase::kCancelled:
      return "CA";
    case Phase::kFailed:
      break;
  }
  switch (status.reason) {
    case Reason::kMaxRuntime:
      return "TO";
    case Reason::kOomKilled:
      return "OOM";
    case Reason::kLost:
      return "NF";
    case Reason::kPreempted:
      return "PR";
    default:
      return "F";
  }
}

}  // namespace tessera::cli
