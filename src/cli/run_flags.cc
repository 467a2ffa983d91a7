#include "cli/run_flags.h"

#include <algorithm>
#include <cctype>

#include "api/codec.h"
#include "api/validate.h"
#include "base/text.h"
#include "cli/flag_values.h"
#include "cli/gpus.h"
#include "cli/refusals.h"
#include "cli/run_container.h"
#include "cli/schema_doc.h"

namespace tessera::cli {

namespace {

// How long a job of --rm and its logs stay should the command line not live to remove it.
constexpr Millis kRemoveAfter{60'000};

std::string job_doc(std::string_view path) {
  return schema_doc(schema::describe<api::Job>(), path);
}

std::string spec_doc(std::string_view path) {
  return job_doc(cat("spec.", path));
}

// A flag whose help is the doc of the field that it sets.
Flag spec_flag(std::string name, char letter, std::string value, std::string_view path) {
  return {
      .name = std::move(name), .letter = letter, .value = std::move(value), .doc = spec_doc(path)};
}

Result<std::pair<std::string, std::string>> parse_pair(std::string_view text) {
  size_t equals = text.find('=');
  if (text.empty() || equals == 0) return error(Code::kInvalid, cat(quoted(text), " has no key"));
  return std::pair(std::string(text.substr(0, equals)), equals == std::string_view::npos
                                                            ? std::string()
                                                            : std::string(text.substr(equals + 1)));
}

// "NAME=value", or "NAME" alone for the caller's own value, if there is one.
void set_variable(std::string_view text, const client::Environment& environment,
                  std::map<std::string, std::string>& env) {
  size_t equals = text.find('=');
  std::string name(text.substr(0, equals));
  if (equals != std::string_view::npos)
    env[name] = std::string(text.substr(equals + 1));
  else if (auto own = environment(name))
    env[name] = *own;
}

Result<std::string> parse_signal(std::string_view text) {
  if (to_int(text)) return std::string(text);
  std::string name;
  for (char c : text) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name.empty()) return error(Code::kInvalid, "needs a signal like SIGTERM");
  return name.starts_with("SIG") ? name : cat("SIG", name);
}

Result<int64_t> parse_pids(std::string_view text) {
  TRY(int64_t pids, parse_integer(text));
  if (pids >= 1) return pids;
  return error(Code::kInvalid, cat(text, " processes are not offered: there always is a limit"), {},
               "leave the flag out for 32768");
}

Status set_env(const Args& args, const RunInputs& inputs, api::JobSpec& spec) {
  for (const std::string& path : args.all("env-file")) {
    auto text = inputs.read_file(path);
    if (!text.ok()) return at_flag("env-file", std::move(text).error());
    Status read = read_env_file(*text, inputs.environment, spec.env).in(path);
    if (!read.ok()) return at_flag("env-file", std::move(read).error());
  }
  for (const std::string& text : args.all("env")) {
    if (text.empty() || text[0] == '=')
      return error(Code::kInvalid, cat(quoted(text), " has no name"), Args::label("env"));
    set_variable(text, inputs.environment, spec.env);
  }
  return Ok;
}

Status set_command(const Args& args, api::JobSpec& spec) {
  const auto& operands = args.operands;
  if (operands.empty())
    return error(Code::kInvalid, "needs an image", {},
                 "tessera run [FLAGS] IMAGE [COMMAND] [ARG…]");
  spec.image = operands[0];
  std::vector<std::string> rest(operands.begin() + 1, operands.end());
  std::string entrypoint = args.text("entrypoint");
  if (args.all("entrypoint").empty()) {
    spec.args = std::move(rest);
  } else if (!entrypoint.empty()) {
    spec.command = {entrypoint};
    spec.args = std::move(rest);
  } else if (!rest.empty()) {  // docker: an empty entrypoint makes the command the program
    spec.command = std::move(rest);
  } else {
    return error(Code::kInvalid, "no command is left to run", Args::label("entrypoint"),
                 "give one behind the image");
  }
  return Ok;
}

Status set_resources(const Args& args, api::Resources& wanted) {
  TRY_STATUS(with_value(args, "memory", parse_docker_memory, [&](MiB m) { wanted.memory = m; }));
  TRY_STATUS(with_value(args, "shm-size", parse_docker_memory, [&](MiB m) { wanted.shm = m; }));
  TRY_STATUS(
      with_value(args, "cpus", parse_milli, [&](int64_t milli) { wanted.cpus = MilliCpu{milli}; }));
  TRY_STATUS(with_value(args, "pids-limit", parse_pids, [&](int64_t n) { wanted.pids = n; }));
  TRY_STATUS(
      with_value(args, "gpu-memory", parse_docker_memory, [&](MiB m) { wanted.gpuMemory = m; }));
  return with_value(args, "gpu-compute", parse_integer,
                    [&](int64_t percent) { wanted.gpuCompute = Percent{percent}; });
}

Status set_limits(const Args& args, api::JobSpec& spec) {
  TRY_STATUS(with_value(args, "priority", parse_integer, [&](int64_t n) { spec.priority = n; }));
  TRY_STATUS(with_value(args, "retries", parse_integer, [&](int64_t n) { spec.retries = n; }));
  TRY_STATUS(with_value(args, "replicas", parse_integer, [&](int64_t n) { spec.replicas = n; }));
  TRY_STATUS(with_value(args, "time", parse_time_limit, [&](Millis m) { spec.maxRuntime = m; }));
  TRY_STATUS(with_value(args, "stop-signal", parse_signal,
                        [&](std::string name) { spec.stopSignal = std::move(name); }));
  return with_value(args, "stop-timeout", parse_integer,
                    [&](int64_t seconds) { spec.stopGrace = {seconds * 1000}; });
}

Status set_storage(const Args& args, const RunInputs& inputs, api::JobSpec& spec) {
  auto add = [&](api::Volume volume) { spec.volumes.push_back(std::move(volume)); };
  auto parse = [&](std::string_view text) { return parse_volume(text, inputs.folder); };
  TRY_STATUS(with_value(args, "volume", parse, add));
  return with_value(args, "mount", parse_mount,
                    [&](std::variant<api::Volume, api::TmpfsMount> mount) {
                      if (auto* volume = std::get_if<api::Volume>(&mount))
                        add(std::move(*volume));
                      else
                        spec.tmpfs.push_back(std::get<api::TmpfsMount>(std::move(mount)));
                    });
}

// Who mounts folders gets files in them as they are on the node: read and written as the caller,
// so that none is left behind that belongs to root. The image's own user where nothing is mounted.
void set_user(const Args& args, const RunInputs& inputs, RunPlan& plan) {
  api::JobSpec& spec = plan.job.spec;
  if (!args.all("user").empty() || spec.volumes.empty() || inputs.user.empty()) return;
  spec.user = inputs.user;
  if (spec.groups.empty()) spec.groups = inputs.groups;
  plan.notes.push_back(
      cat("runs as you, ", inputs.user, ", since it mounts folders; --user root runs it as root"));
}

Status set_labels(const Args& args, api::Metadata& metadata) {
  using Pair = std::pair<std::string, std::string>;
  TRY_STATUS(with_value(args, "label", parse_pair,
                        [&](Pair pair) { metadata.labels[pair.first] = pair.second; }));
  return with_value(args, "annotation", parse_pair,
                    [&](Pair pair) { metadata.annotations[pair.first] = pair.second; });
}

api::PullPolicy pull_policy(std::string_view word) {
  if (word == "always") return api::PullPolicy::kAlways;
  return word == "never" ? api::PullPolicy::kNever : api::PullPolicy::kIfNotPresent;
}

// What --gpus, --runtime and NVIDIA_VISIBLE_DEVICES together ask for. The variable leaves the
// environment in any case: inside the container it says what was allocated, which only the engine
// knows.
Result<GpuRequest> gpu_request(const Args& args, api::JobSpec& spec,
                               std::vector<std::string>& notes) {
  std::string runtime = args.text("runtime", "runc");
  if (runtime != "runc" && runtime != "nvidia")
    return error(Code::kInvalid, cat("runtime ", quoted(runtime), " is not offered"),
                 Args::label("runtime"), "GPUs are asked for with --gpus");
  std::optional<std::string> visible;
  if (auto found = spec.env.find("NVIDIA_VISIBLE_DEVICES"); found != spec.env.end()) {
    visible = found->second;
    spec.env.erase(found);
  }
  std::string gpus = args.text("gpus");
  if (!args.all("gpus").empty()) {
    auto request = parse_gpus(gpus);
    if (request.ok()) return request;
    return at_flag("gpus", std::move(request).error());
  }
  if (visible) {
    auto request = parse_visible_devices(*visible);
    if (!request.ok()) {
      Error failure = std::move(request).error();
      failure.field = "NVIDIA_VISIBLE_DEVICES";
      return failure;
    }
    notes.push_back(request->what == GpuRequest::What::kNone
                        ? cat("NVIDIA_VISIBLE_DEVICES=", *visible, " is taken as: no GPU")
                        : cat("NVIDIA_VISIBLE_DEVICES=", *visible, " is taken as --gpus ",
                              *visible == "all" ? "" : "device=", *visible));
    return request;
  }
  if (runtime != "nvidia") return GpuRequest{};
  notes.push_back("--runtime=nvidia is taken as --gpus all; for fewer say --gpus N");
  return GpuRequest{.what = GpuRequest::What::kAll, .vendor = "nvidia"};
}

Status set_gpus(const Args& args, RunPlan& plan) {
  using What = GpuRequest::What;
  api::JobSpec& spec = plan.job.spec;
  api::Resources& wanted = spec.resources;
  TRY(GpuRequest request, gpu_request(args, spec, plan.notes));
  std::string model = args.text("gpu-model");
  bool shaped = wanted.gpuMemory || wanted.gpuCompute || !model.empty();
  // A slice or a model without a number means one device.
  if (request.what == What::kNone && shaped && args.all("gpus").empty())
    request = {.what = What::kCount, .count = {1000}, .vendor = request.vendor};
  if (request.what == What::kNone && shaped)
    return error(Code::kInvalid, "asks for no GPU, but other flags say which", Args::label("gpus"),
                 "leave out --gpu-memory, --gpu-compute and --gpu-model");
  if (request.what == What::kNone) return Ok;

  api::AcceleratorSelector selector{.vendor = request.vendor, .model = model};
  selector.devices = request.devices;
  if (selector != api::AcceleratorSelector{}) wanted.accelerator = selector;
  plan.all_gpus = request.what == What::kAll;
  if (request.what == What::kCount) wanted.gpus = request.count;
  if (request.what == What::kDevices)
    wanted.gpus = MilliGpu{static_cast<int64_t>(request.devices.size()) * 1000};
  if (!request.capabilities.empty())
    spec.env.try_emplace("NVIDIA_DRIVER_CAPABILITIES", request.capabilities);
  return Ok;
}

}  // namespace

std::vector<Flag> docker_flags() {
  std::vector<Flag> out = {
      {"detach", 'd', "", "Print the job's name and leave it to run.", {}},
      {"interactive", 'i', "", spec_doc("stdin"), {}},
      {"tty", 't', "", spec_doc("tty"), {}},
      {"rm", 0, "", "Remove the job and its logs when it has ended.", {}},
      {"name", 0, "NAME", job_doc("metadata.name"), {}},
      {"quiet", 'q', "", "Do not tell where the job stands while it waits.", {}},
      spec_flag("gpus", 0, "N|all|device=…", "resources.gpus"),
      spec_flag("cpus", 0, "N", "resources.cpus"),
      spec_flag("memory", 'm', "SIZE", "resources.memory"),
      spec_flag("shm-size", 0, "SIZE", "resources.shm"),
      spec_flag("pids-limit", 0, "N", "resources.pids"),
      spec_flag("env", 'e', "NAME[=VALUE]", "env"),
      {"env-file", 0, "FILE", "Read environment variables from a file, one NAME=VALUE a line.", {}},
      spec_flag("volume", 'v', "SOURCE:TARGET[:ro]", "volumes"),
      {"mount",
       0,
       "type=bind|tmpfs,…",
       "The same, or a folder in memory, in docker's longer form.",
       {}},
      {"user",
       'u',
       "USER[:GROUP]",
       cat(spec_doc("user"), " A job that mounts folders runs as you."),
       {}},
      spec_flag("workdir", 'w', "FOLDER", "workingDir"),
      spec_flag("entrypoint", 0, "PROGRAM", "command"),
      {"label", 'l', "KEY=VALUE", job_doc("metadata.labels"), {}},
      {"annotation", 0, "KEY=VALUE", job_doc("metadata.annotations"), {}},
      spec_flag("stop-signal", 0, "SIGNAL", "stopSignal"),
      spec_flag("stop-timeout", 0, "SECONDS", "stopGrace"),
      {"pull", 0, "WHEN", spec_doc("pullPolicy"), {"missing", "always", "never"}},
      {"runtime", 0, "RUNTIME", "nvidia is taken as --gpus all; runc is what runs anyhow.", {}},
  };
  for (Flag& flag : out)
    for (std::string_view name : {"env", "env-file", "volume", "mount", "label", "annotation"})
      if (flag.name == name) flag.many = true;
  std::vector<Flag> container = container_flags();
  out.insert(out.end(), container.begin(), container.end());
  return out;
}

std::vector<Flag> own_flags() {
  return {
      spec_flag("gpu-memory", 0, "SIZE", "resources.gpuMemory"),
      spec_flag("gpu-compute", 0, "PERCENT", "resources.gpuCompute"),
      spec_flag("gpu-model", 0, "MODEL", "resources.accelerator.model"),
      spec_flag("priority", 0, "N", "priority"),
      spec_flag("time", 0, "TIME", "maxRuntime"),
      spec_flag("retries", 0, "N", "retries"),
      spec_flag("replicas", 0, "N", "replicas"),
      {.name = "secret", .value = "SECRET:KEY:TARGET", .doc = spec_doc("secrets"), .many = true},
  };
}

std::vector<Flag> run_flags() {
  std::vector<Flag> out = docker_flags();
  for (const std::vector<Flag>& more : {own_flags(), refused_flags()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

Result<RunPlan> plan_run(const Args& args, const RunInputs& inputs) {
  TRY_STATUS(check_refusals(args));
  RunPlan plan;
  api::JobSpec& spec = plan.job.spec;
  plan.job.metadata.name = args.text("name");
  plan.detach = args.has("detach");
  plan.remove = args.has("rm");
  plan.quiet = args.has("quiet");
  spec.tty = args.has("tty");
  spec.stdin_ = args.has("interactive");
  spec.user = args.text("user");
  spec.workingDir = args.text("workdir");
  spec.pullPolicy = pull_policy(args.text("pull"));
  if (plan.remove) spec.removeAfter = kRemoveAfter;
  TRY_STATUS(set_command(args, spec));
  TRY_STATUS(set_env(args, inputs, spec));
  TRY_STATUS(set_resources(args, spec.resources));
  TRY_STATUS(set_limits(args, spec));
  TRY_STATUS(set_storage(args, inputs, spec));
  TRY_STATUS(set_container(args, plan));
  set_user(args, inputs, plan);
  TRY_STATUS(set_labels(args, plan.job.metadata));
  TRY_STATUS(set_gpus(args, plan));
  if (spec.replicas > 1 && spec.stdin_)
    return error(Code::kInvalid, "connects to one replica, not to several",
                 Args::label("interactive"), "leave it out, and use 'tessera exec' later");
  // The server's own rules, so that a slip is told before anything is sent.
  TRY(plan.job, schema::decode<api::Job>(schema::encode(plan.job)));
  TRY_STATUS(api::validate(plan.job));
  return plan;
}

Status read_env_file(std::string_view text, const client::Environment& environment,
                     std::map<std::string, std::string>& env) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // what Windows editors put first
  int number = 0;
  for (std::string_view line_text : split(text, '\n')) {
    ++number;
    while (!line_text.empty() && std::isspace(static_cast<unsigned char>(line_text.front())))
      line_text.remove_prefix(1);
    if (line_text.ends_with('\r')) line_text.remove_suffix(1);
    if (line_text.empty() || line_text[0] == '#') continue;
    std::string_view name = line_text.substr(0, line_text.find('='));
    if (name.empty()) return error(Code::kInvalid, cat("line ", number, " has no name"));
    if (name.find_first_of(" \t") != std::string_view::npos)
      return error(Code::kInvalid,
                   cat("line ", number, ": the name ", quoted(name), " has a blank"));
    set_variable(line_text, environment, env);
  }
  return Ok;
}

Result<Millis> parse_time_limit(std::string_view text) {
  if (to_int(text))
    return error(Code::kInvalid, cat(quoted(text), " has no unit"), {},
                 "write it like 90s, 30m, 4h or 4:00:00");
  if (text.find_first_of(":-") == std::string_view::npos) return parse_duration(text);
  auto bad = [&] {
    return error(Code::kInvalid, cat(quoted(text), " is not a time"), {},
                 "write it like 4h, 4:00:00 or 2-12:00");
  };
  size_t dash = text.find('-');
  bool has_days = dash != std::string_view::npos;
  std::vector<int64_t> parts;
  if (has_days) parts.push_back(to_int(text.substr(0, dash)).value_or(-1));
  for (const std::string& part : split(has_days ? text.substr(dash + 1) : text, ':'))
    parts.push_back(to_int(part).value_or(-1));
  for (int64_t part : parts)
    if (part < 0 || part > 100'000) return bad();
  // With days: D-H[:M[:S]]; without: [H:]M:S.
  size_t most = has_days ? 4 : 3;
  if (parts.size() > most) return bad();
  while (has_days && parts.size() < 4) parts.push_back(0);
  static constexpr int64_t kSeconds[] = {86400, 3600, 60, 1};
  int64_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) total += parts[i] * kSeconds[4 - parts.size() + i];
  return Millis{total * 1000};
}

}  // namespace tessera::cli
