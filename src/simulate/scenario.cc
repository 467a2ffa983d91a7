#include "simulate/scenario.h"

#include <algorithm>

#include "base/text.h"
#include "simulate/file.h"

namespace tessera::simulate {

namespace {

using Words = std::vector<std::string>;

Error fault(std::string message) {
  return {Code::kInvalid, std::move(message)};
}

Result<int64_t> integer(std::string_view text) {
  if (auto number = to_int(text)) return *number;
  return fault(cat(quoted(text), " is not a whole number"));
}

// Pairs of a word and its value, from position `at` on.
template <class Take>
Status with_pairs(const Words& words, size_t at, Take take) {
  for (; at < words.size(); at += 2) {
    if (at + 1 == words.size()) return fault(cat(quoted(words[at]), " needs a value behind it"));
    TRY_STATUS(take(words[at], words[at + 1]));
  }
  return Ok;
}

// node NAME [gpus N] [model M] [memory SIZE of each] [cpus N]
Status read_node(const Words& words, Scenario& out) {
  if (words.size() < 2) return fault("a node needs a name");
  Machines defaults;
  Machine machine{.name = words[1],
                  .model = defaults.model,
                  .accelerator_memory = defaults.acceleratorMemory,
                  .cpus = defaults.cpus,
                  .memory = defaults.memory};
  TRY_STATUS(with_pairs(words, 2, [&](const std::string& key, const std::string& value) -> Status {
    if (key == "gpus") {
      TRY(machine.accelerators, integer(value));
    } else if (key == "model") {
      machine.model = value;
    } else if (key == "memory") {
      TRY(machine.accelerator_memory, parse_memory(value));
    } else if (key == "cpus") {
      TRY(machine.cpus.value, parse_milli(value));
    } else {
      return fault(cat(quoted(key), " is none of gpus, model, memory, cpus"));
    }
    return Ok;
  }));
  out.workload.machines.push_back(std::move(machine));
  return Ok;
}

// project NAME max N
Status read_project(const Words& words, Scenario& out) {
  if (words.size() != 4 || words[2] != "max") return fault("write it like: project vision max 8");
  TRY(int64_t max, parse_milli(words[3]));
  out.workload.projects[words[1]].max = MilliGpu{max};
  return Ok;
}

Status take_job_word(Submission& job, const std::string& key, const std::string& value) {
  auto model = [&]() -> api::AcceleratorSelector& {
    if (!job.resources.accelerator) job.resources.accelerator.emplace();
    return *job.resources.accelerator;
  };
  if (key == "gpus") {
    TRY(int64_t milli, parse_milli(value));
    job.resources.gpus = MilliGpu{milli};
  } else if (key == "slice") {
    TRY(MiB memory, parse_memory(value));
    job.resources.gpuMemory = memory;
  } else if (key == "compute") {
    TRY(int64_t percent, integer(value));
    job.resources.gpuCompute = Percent{percent};
  } else if (key == "replicas") {
    TRY(job.replicas, integer(value));
  } else if (key == "priority") {
    TRY(job.priority, integer(value));
  } else if (key == "model") {
    model().model = value;
  } else if (key == "cpus") {
    TRY(int64_t cpus, parse_milli(value));
    job.resources.cpus = MilliCpu{cpus};
  } else if (key == "runs") {
    TRY(job.runs, parse_duration(value));
  } else {
    return fault(cat(quoted(key),
                     " is none of gpus, slice, compute, replicas, priority, model, "
                     "cpus, runs"));
  }
  return Ok;
}

// "project/name"; without a project the default one.
std::pair<std::string, std::string> key_of(const std::string& text) {
  size_t slash = text.find('/');
  if (slash == text.npos) return {"default", text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

bool has_machine(const Workload& workload, const std::string& name) {
  return std::any_of(workload.machines.begin(), workload.machines.end(),
                     [&](const Machine& machine) { return machine.name == name; });
}

bool has_device(const Workload& workload, const std::string& name) {
  size_t slash = name.rfind('/');
  auto index = slash == name.npos ? std::nullopt : to_int(name.substr(slash + 1));
  return index && std::any_of(workload.machines.begin(), workload.machines.end(),
                              [&](const Machine& machine) {
                                return machine.name == name.substr(0, slash) && *index >= 0 &&
                                       *index < machine.accelerators;
                              });
}

// at TIME job|stop|cordon|uncordon|fence|heal TARGET …
Status read_event(const Words& words, Scenario& out) {
  if (words.size() < 4) return fault("write it like: at 10s job train gpus 4 runs 1h");
  TRY(Millis at, parse_duration(words[1]));
  const std::string& what = words[2];
  auto [project, name] = key_of(words[3]);
  if (what == "job") {
    Submission job{.name = name, .project = project, .at = at, .runs = Millis{INT32_MAX}};
    TRY_STATUS(with_pairs(words, 4, [&](const std::string& key, const std::string& value) {
      return take_job_word(job, key, value);
    }));
    out.workload.jobs.push_back(std::move(job));
    return Ok;
  }
  using What = Happening::What;
  constexpr std::pair<std::string_view, What> kWords[] = {{"cordon", What::kCordon},
                                                          {"uncordon", What::kUncordon},
                                                          {"fence", What::kFence},
                                                          {"heal", What::kHeal},
                                                          {"stop", What::kStop}};
  auto found = std::find_if(std::begin(kWords), std::end(kWords),
                            [&](const auto& word) { return word.first == what; });
  if (found == std::end(kWords) || words.size() != 4)
    return fault(cat(quoted(what),
                     " is not what can happen to one thing: job, stop, cordon, "
                     "uncordon, fence, heal"));
  bool device = found->second == What::kFence || found->second == What::kHeal;
  bool stop = found->second == What::kStop;
  if (device ? !has_device(out.workload, words[3]) : !stop && !has_machine(out.workload, words[3]))
    return fault(cat("above this line there is no ", device ? "device like node/0 named " : "node ",
                     quoted(words[3])));
  out.workload.happenings.push_back({at, found->second, stop ? cat(project, "/", name) : words[3]});
  return Ok;
}

// policy NAME
Status read_policy(const Words& words, Scenario& out) {
  for (const Policy& policy : policies())
    if (words.size() == 2 && policy.name == words[1]) {
      out.policy = policy;
      return Ok;
    }
  return fault(
      "there is no such policy: choose among fragmentation, pack, spread, shortest, learnt");
}

Status read_line(const Words& words, Scenario& out) {
  if (words[0] == "node") return read_node(words, out);
  if (words[0] == "project") return read_project(words, out);
  if (words[0] == "policy") return read_policy(words, out);
  if (words[0] == "at") return read_event(words, out);
  return fault(cat(quoted(words[0]), " is none of node, project, policy, at"));
}

// An expected line that ends with "..." leaves open how the line goes on.
bool agrees(std::string_view is, std::string_view should) {
  constexpr std::string_view kOpen = "...";
  if (!should.ends_with(kOpen)) return is == should;
  return is.starts_with(should.substr(0, should.size() - kOpen.size()));
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text) {
  Scenario out;
  bool expected = false;
  size_t number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    std::string_view line = trim(std::string_view(raw).substr(0, raw.find('#')));
    if (expected && !trim(raw).empty()) out.expected.emplace_back(trim(raw));
    if (expected || line.empty()) continue;
    if (line == "---") {
      expected = true;
      continue;
    }
    Words words = split(line, ' ');
    std::erase(words, "");
    if (Status read = read_line(words, out); !read.ok())
      return std::move(read).error().in(cat("line ", number));
  }
  std::stable_sort(out.workload.jobs.begin(), out.workload.jobs.end(),
                   [](const Submission& a, const Submission& b) { return a.at < b.at; });
  std::stable_sort(out.workload.happenings.begin(), out.workload.happenings.end(),
                   [](const Happening& a, const Happening& b) { return a.at < b.at; });
  return out;
}

std::vector<std::string> play(const Scenario& scenario) {
  Outcome outcome = run(scenario.workload, scenario.policy, {.progress = {}, .log = true});
  for (const auto& [why, count] : outcome.refused)
    outcome.log.push_back(cat(plural(count, "job"), " refused: ", why));
  return std::move(outcome.log);
}

Status compare(const Scenario& scenario, const std::vector<std::string>& happened) {
  if (scenario.expected.empty()) return Ok;
  constexpr std::string_view kNothing = "nothing more";
  for (size_t i = 0; i < std::max(happened.size(), scenario.expected.size()); ++i) {
    std::string_view is = i < happened.size() ? happened[i] : kNothing;
    std::string_view should = i < scenario.expected.size() ? scenario.expected[i] : kNothing;
    if (!agrees(is, should))
      return error(Code::kConflict,
                   cat("line ", i + 1, " of what happened is: ", is, "\nexpected was: ", should));
  }
  return Ok;
}

}  // namespace tessera::simulate
