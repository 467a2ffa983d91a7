#include "cli/slurm/submission.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "api/codec.h"
#include "api/validate.h"
#include "base/text.h"
#include "cli/slurm/directives.h"

namespace tessera::slurm {

namespace {

Error at(const Option& option, Error failure) {
  failure.field = place_of(option);
  return failure;
}

Error refuse(const Option& option, std::string why, std::string hint = {}) {
  return error(Code::kInvalid, std::move(why), place_of(option), std::move(hint));
}

// The options that count, by name.
class Options {
 public:
  Status take(const Option& option) {
    const Directive* row = find_directive(option.name);
    CHECK(row != nullptr);
    bool none = option.name == "mail-type" && lower(option.value) == "none";
    if (!row->refusal.empty() && !none) return refuse(option, std::string(row->refusal));
    if (row->takes == Takes::kRequired && option.value.empty())
      return refuse(option, cat("needs a value: ", row->value));
    by_name_[option.name] = option;
    return Ok;
  }

  const Option* find(std::string_view name) const {
    auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &found->second;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string text(std::string_view name) const { return has(name) ? find(name)->value : ""; }

  // Runs a parser on the option's value, if it was given, and names the option in its error.
  template <class Parse, class Take>
  Status with(std::string_view name, Parse parse, Take take) const {
    const Option* option = find(name);
    if (!option) return Ok;
    auto parsed = parse(option->value);
    if (!parsed.ok()) return at(*option, std::move(parsed).error());
    take(std::move(*parsed));
    return Ok;
  }

  // The later one of two that say the opposite.
  bool on(std::string_view name, std::string_view opposite) const {
    const Option* yes = find(name);
    const Option* no = find(opposite);
    if (!yes || !no) return yes != nullptr;
    auto order = [](const Option& one) { return one.line > 0 ? one.line : INT32_MAX; };
    return order(*yes) >= order(*no);
  }

 private:
  std::map<std::string, Option> by_name_;
};

// --- Resources ---------------------------------------------------------------------------------

struct Counts {
  int64_t tasks = 1;
  std::optional<int64_t> cpus_per_task;
};

Status set_nodes(const Options& options) {
  const Option* nodes = options.find("nodes");
  if (!nodes) return Ok;
  auto count = parse_nodes(nodes->value);
  if (!count.ok()) return at(*nodes, std::move(count).error());
  if (*count == 1) return Ok;
  return refuse(*nodes, "a script runs once, in one container, and has no srun to start others",
                "submit a gang instead: a Job with spec.replicas and spec.rendezvous");
}

Result<Counts> read_counts(const Options& options) {
  Counts out;
  auto set_tasks = [&](int64_t n) { out.tasks = n; };
  TRY_STATUS(options.with("ntasks-per-node", parse_count, set_tasks));
  const Option* per_node = options.find("ntasks-per-node");
  int64_t before = out.tasks;
  TRY_STATUS(options.with("ntasks", parse_count, set_tasks));
  if (per_node && out.tasks != before)
    return refuse(*per_node, cat("is ", before, " on one node, but --ntasks is ", out.tasks));
  TRY_STATUS(options.with("cpus-per-task", parse_count, [&](int64_t n) { out.cpus_per_task = n; }));
  return out;
}

// --gpus, --gpus-per-node, --gpus-per-task and --gres say the same: they have to agree.
Status set_gpus(const Options& options, const Counts& counts, api::Resources& out) {
  const Option* first = nullptr;
  std::optional<Gpus> wanted;
  for (std::string_view name : {"gpus", "gpus-per-node", "gpus-per-task", "gres"}) {
    const Option* option = options.find(name);
    if (!option || (name == "gres" && lower(option->value) == "none")) continue;
    auto parsed = name == "gres" ? parse_gres(option->value) : parse_gpus(option->value);
    if (!parsed.ok()) return at(*option, std::move(parsed).error());
    if (name == "gpus-per-task") parsed->count *= counts.tasks;
    if (wanted && wanted->count != parsed->count)
      return refuse(*option, cat("asks for ", parsed->count, " accelerators, but ",
                                 place_of(*first), " for ", wanted->count));
    if (wanted && parsed->model.empty()) parsed->model = wanted->model;
    wanted = *parsed;
    first = option;
  }
  std::string model = wanted ? wanted->model : "";
  if (const Option* constraint = options.find("constraint")) {
    if (constraint->value.find_first_of("&|[]()*, ") != std::string::npos)
      return refuse(*constraint, cat(quoted(constraint->value), " is more than one word"),
                    "name a part of the accelerator's model, like h100");
    if (!wanted || wanted->count == 0)
      return refuse(*constraint, "is the model of an accelerator, and none is asked for",
                    "add --gpus, or leave it out");
    if (model.empty()) model = constraint->value;
  }
  if (!wanted || wanted->count == 0) return Ok;
  out.gpus = MilliGpu{wanted->count * 1000};
  if (!model.empty()) out.accelerator = api::AcceleratorSelector{.model = model};
  return Ok;
}

int64_t gpu_count(const api::Resources& resources) {
  return resources.gpus ? resources.gpus->value / 1000 : 0;
}

Error without_gpus(const Option& option) {
  return refuse(option, "is for each accelerator, and none is asked for", "add --gpus");
}

Status set_cpus(const Options& options, const Counts& counts, api::Resources& out) {
  bool counted = options.has("ntasks") || options.has("ntasks-per-node") || counts.cpus_per_task;
  if (counted) out.cpus = MilliCpu{counts.tasks * counts.cpus_per_task.value_or(1) * 1000};
  const Option* per_gpu = options.find("cpus-per-gpu");
  if (!per_gpu) return Ok;
  auto count = parse_count(per_gpu->value);
  if (!count.ok()) return at(*per_gpu, std::move(count).error());
  if (gpu_count(out) == 0) return without_gpus(*per_gpu);
  if (counts.cpus_per_task)
    return refuse(*per_gpu, "and --cpus-per-task both say how many CPUs", "leave one out");
  out.cpus = MilliCpu{*count * gpu_count(out) * 1000};
  return Ok;
}

Status set_memory(const Options& options, api::Resources& out) {
  const Option* first = nullptr;
  for (std::string_view name : {"mem", "mem-per-cpu", "mem-per-gpu"}) {
    const Option* option = options.find(name);
    if (!option) continue;
    if (first)
      return refuse(*option, cat("and ", place_of(*first), " both say how much memory"),
                    "leave one out");
    first = option;
    auto size = parse_size(option->value);
    if (!size.ok()) return at(*option, std::move(size).error());
    int64_t times = 1;
    if (name == "mem-per-gpu") times = gpu_count(out);
    if (times == 0) return without_gpus(*option);
    if (name == "mem-per-cpu") times = out.cpus.value_or(MilliCpu{1000}).value / 1000;
    if (size->value > INT64_MAX / 1024 / times)
      return refuse(*option, cat(quoted(option->value), " is more than any node has"));
    out.memory = *size * times;
  }
  return Ok;
}

Status set_resources(const Options& options, const Counts& counts, api::Resources& out) {
  TRY_STATUS(set_gpus(options, counts, out));
  TRY_STATUS(set_cpus(options, counts, out));
  return set_memory(options, out);
}

// --- When and how often ------------------------------------------------------------------------

Status set_timing(const Options& options, const Submitter& submitter, api::JobSpec& spec) {
  TRY_STATUS(options.with("time", parse_time, [&](auto limit) { spec.maxRuntime = limit; }));
  TRY_STATUS(options.with(
      "begin", [&](const std::string& text) { return parse_begin(text, submitter.clock); },
      [&](Instant begin) {
        if (begin > submitter.clock.now) spec.startAfter = begin;
      }));
  TRY_STATUS(options.with("signal", parse_signal,
                          [&](auto warning) { spec.endWarning = std::move(warning); }));
  if (spec.endWarning && !spec.maxRuntime)
    return refuse(*options.find("signal"), "warns before the time limit, and there is none",
                  "add --time");
  TRY_STATUS(
      options.with("array", parse_array, [&](auto array) { spec.array = std::move(array); }));
  spec.requeue = !options.on("no-requeue", "requeue");
  return Ok;
}

Status set_priority(const Options& options, api::JobSpec& spec) {
  auto read = [](const std::string& text) -> Result<int64_t> {
    auto number = to_int(text);
    if (number && *number >= -1000 && *number <= 1000) return *number;
    return error(Code::kInvalid, cat(quoted(text), " is not a number from -1000 to 1000"));
  };
  auto read_nice = [&](const std::string& text) { return read(text.empty() ? "100" : text); };
  TRY_STATUS(options.with("priority", read, [&](int64_t n) { spec.priority = n; }));
  TRY_STATUS(options.with("nice", read_nice, [&](int64_t n) { spec.priority -= n; }));
  spec.priority = std::clamp<int64_t>(spec.priority, -1000, 1000);
  return Ok;
}

Status set_dependencies(const Options& options, const Submitter& submitter, const std::string& name,
                        api::JobSpec& spec) {
  return options.with("dependency", parse_dependency, [&](Dependencies wanted) {
    spec.dependsOn = std::move(wanted.jobs);
    // Slurm's singleton is by user and job name.
    if (wanted.singleton) spec.singleton = cat(submitter.user, "/", name);
  });
}

// --- The container -----------------------------------------------------------------------------

bool takes_script(std::string_view program) {
  static constexpr std::string_view kShells[] = {"sh",  "bash", "dash", "ash",
                                                 "zsh", "ksh",  "mksh", "fish"};
  return std::ranges::find(kShells, program) != std::end(kShells) || program.starts_with("python");
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// The script goes as an argument, so that the image needs nothing but its interpreter.
Result<std::vector<std::string>> command_of(const Script& script, const Source& source) {
  std::vector<std::string> out = script.interpreter;
  std::string program(base_name(out[0]));
  if (program == "env") {
    auto named = std::find_if(out.begin() + 1, out.end(), [](const std::string& word) {
      return !word.starts_with('-') && word.find('=') == std::string::npos;
    });
    program = named == out.end() ? "" : std::string(base_name(*named));
  }
  if (!takes_script(program))
    return error(Code::kInvalid,
                 cat("the interpreter ", quoted(program), " cannot be given a script as argument"),
                 "line 1", "use sh, bash, dash, zsh, ksh, fish or python");
  out.insert(out.end(), {"-c", source.text});
  // What comes first behind the script is $0 to a shell; Python has no such thing.
  if (!program.starts_with("python") && program != "fish") out.push_back(source.name);
  out.insert(out.end(), source.arguments.begin(), source.arguments.end());
  return out;
}

Status set_folders(const Options& options, const Submitter& submitter, api::JobSpec& spec) {
  for (std::string_view name : {"chdir", "container-workdir"}) {
    const Option* option = options.find(name);
    if (!option) continue;
    if (!option->value.starts_with('/'))
      return refuse(*option, cat(quoted(option->value), " is not a path from / on"),
                    "it is a folder in the container");
    spec.workingDir = option->value;
  }
  auto parse = [&](const std::string& text) { return parse_mounts(text, submitter.folder); };
  TRY_STATUS(options.with("container-mounts", parse,
                          [&](auto volumes) { spec.volumes = std::move(volumes); }));
  if (options.on("container-mount-home", "no-container-mount-home"))
    spec.volumes.push_back({.source = submitter.home, .target = submitter.home});
  return Ok;
}

void set_user(const Options& options, const Submitter& submitter, api::JobSpec& spec) {
  bool as_root = options.has("container-remap-root");
  bool as_caller = options.has("no-container-remap-root");
  if (as_root && as_caller) as_root = options.on("container-remap-root", "no-container-remap-root");
  if (as_root)
    spec.user = "0:0";
  else if (as_caller)
    spec.user = cat(submitter.uid, ":", submitter.gid);
}

Status set_environment(const Options& options, const Submitter& submitter, api::JobSpec& spec) {
  auto parse = [&](const std::string& text) { return parse_export(text, submitter.environment); };
  auto take = [&](const Variables& variables) {
    for (const auto& [name, value] : variables) spec.env[name] = value;
  };
  TRY_STATUS(options.with("export", parse, take));
  return options.with("container-env", parse, take);
}

// What a script finds in its environment and only the submitting side knows; the server adds the
// rest (spec.slurmEnv).
void set_slurm_variables(const Options& options, const Counts& counts, const Submitter& submitter,
                         const std::string& name, api::JobSpec& spec) {
  spec.slurmEnv = true;
  std::map<std::string, std::string>& env = spec.env;
  env["SLURM_JOB_NAME"] = name;
  env["SLURM_JOB_USER"] = submitter.user;
  env["SLURM_JOB_UID"] = cat(submitter.uid);
  env["SLURM_SUBMIT_DIR"] = submitter.folder;
  env["SLURM_SUBMIT_HOST"] = submitter.host;
  env["SLURM_NTASKS"] = env["SLURM_NPROCS"] = cat(counts.tasks);
  env["SLURM_TASKS_PER_NODE"] = cat(counts.tasks);
  if (options.has("ntasks-per-node")) env["SLURM_NTASKS_PER_NODE"] = cat(counts.tasks);
  if (counts.cpus_per_task) env["SLURM_CPUS_PER_TASK"] = cat(*counts.cpus_per_task);
  if (spec.resources.gpus) env["SLURM_GPUS"] = cat(gpu_count(spec.resources));
  if (options.has("mem")) env["SLURM_MEM_PER_NODE"] = cat(spec.resources.memory->value);
}

Status set_project(const Options& options, std::string& project) {
  project = options.text("account");
  const Option* partition = options.find("partition");
  if (!partition) return Ok;
  if (!project.empty() && project != partition->value)
    return refuse(*partition,
                  cat("is ", quoted(partition->value), ", but --account is ", quoted(project),
                      ", and both are the project"),
                  "leave one out");
  project = partition->value;
  return Ok;
}

// "Train_Llama.sh" as the beginning of a name: "train-llama-sh-".
std::string name_prefix(std::string_view name) {
  std::string out;
  for (char c : lower(name)) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain || (!out.empty() && out.back() != '-')) out += plain ? c : '-';
  }
  out = out.substr(0, 40);
  while (out.ends_with('-')) out.pop_back();
  return cat(out.empty() ? "job" : out, "-");
}

// Patterns are tried, so that a mistake is told before the job runs.
Status set_outputs(const Options& options, Submission& out) {
  for (std::string_view name : {"output", "error"}) {
    auto try_pattern = [](const std::string& text) { return expand_pattern(text, {}); };
    TRY_STATUS(options.with(name, try_pattern, [](const std::string&) {}));
  }
  out.output = options.text("output");
  out.error = options.text("error");
  out.parsable = options.has("parsable");
  out.test_only = options.has("test-only");
  out.wait = options.has("wait");
  if (!out.wait && (!out.output.empty() || !out.error.empty()))
    out.notes.push_back(
        "the output stays in the job's log ('tessera logs'); only with --wait it is written to "
        "the files that --output and --error name");
  return Ok;
}

Result<Options> collect(const Script& script, const std::vector<Option>& command_line) {
  Options out;
  for (const Option& option : script.options) {
    if (option.name == "wrap")
      return refuse(option, "takes the place of a script, so it cannot stand in one");
    // What the command line says otherwise is not asked of the script.
    bool replaced =
        std::ranges::find(command_line, option.name, &Option::name) != command_line.end();
    const Directive* row = find_directive(option.name);
    if (!replaced || (row && !row->refusal.empty())) TRY_STATUS(out.take(option));
  }
  for (const Option& option : command_line) TRY_STATUS(out.take(option));
  return out;
}

}  // namespace

Source wrapped(std::string_view command) {
  return {.text = cat("#!/bin/sh\n", command, "\n"), .name = "wrap", .arguments = {}};
}

std::string default_output(const api::JobSpec& spec) {
  return spec.array ? "slurm-%A_%a.out" : "slurm-%j.out";
}

Result<Submission> plan_submission(const Source& source, const std::vector<Option>& command_line,
                                   const Submitter& submitter) {
  TRY(Script script, parse_script(source.text));
  TRY(Options options, collect(script, command_line));
  Submission out;
  api::JobSpec& spec = out.job.spec;
  std::string name = options.has("job-name") ? options.text("job-name") : source.name;
  out.job.metadata.generateName = name_prefix(name);
  if (options.has("comment")) out.job.metadata.annotations["comment"] = options.text("comment");
  TRY(spec.command, command_of(script, source));
  if (!options.has("container-image"))
    return error(Code::kInvalid, "names no image to run in", {},
                 "add #SBATCH --container-image=IMAGE, or give --container-image");
  TRY_STATUS(options.with("container-image", parse_image,
                          [&](std::string image) { spec.image = std::move(image); }));
  TRY_STATUS(set_nodes(options));
  TRY(Counts counts, read_counts(options));
  TRY_STATUS(set_resources(options, counts, spec.resources));
  TRY_STATUS(set_timing(options, submitter, spec));
  TRY_STATUS(set_priority(options, spec));
  TRY_STATUS(set_dependencies(options, submitter, name, spec));
  TRY_STATUS(set_folders(options, submitter, spec));
  set_user(options, submitter, spec);
  TRY_STATUS(set_environment(options, submitter, spec));
  set_slurm_variables(options, counts, submitter, name, spec);
  TRY_STATUS(set_project(options, out.project));
  TRY_STATUS(set_outputs(options, out));
  for (int line : script.srun_lines)
    out.notes.push_back(cat("line ", line,
                            ": srun is not in a container unless the image brings it; run the "
                            "program itself"));
  // The server's own rules, so that a slip is told before anything is sent.
  TRY(out.job, schema::decode<api::Job>(schema::encode(out.job)));
  TRY_STATUS(api::validate(out.job));
  return out;
}

}  // namespace tessera::slurm
