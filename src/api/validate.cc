#include "api/validate.h"

#include <algorithm>
#include <set>

#include "api/codec_impl.h"
#include "api/image_reference.h"
#include "base/text.h"

namespace tessera::api {

namespace {

constexpr std::pair<std::string_view, int64_t> kSignals[] = {
    {"SIGHUP", 1},   {"SIGINT", 2},   {"SIGQUIT", 3},  {"SIGABRT", 6},
    {"SIGKILL", 9},  {"SIGUSR1", 10}, {"SIGUSR2", 12}, {"SIGALRM", 14},
    {"SIGTERM", 15}, {"SIGCONT", 18}, {"SIGSTOP", 19}, {"SIGWINCH", 28}};

// What a secret may hold in all: a kubeconfig or a certificate chain, not a data set (Kubernetes'
// limit).
constexpr size_t kSecretBytesLimit = size_t{1} << 20;

Status check_name(const Metadata& metadata, bool required) {
  if (required && !metadata.generateName.empty())
    return error(Code::kInvalid, "is for jobs only", "metadata.generateName", "give metadata.name");
  if (metadata.name.empty()) {
    if (required) return error(Code::kInvalid, "is required", "metadata.name");
    return Ok;
  }
  return schema::check_format(schema::Path{}, {}, metadata.name, schema::Format::kName).ok()
             ? Status(Ok)
             : Status(error(Code::kInvalid, cat(quoted(metadata.name), " is not a valid name"),
                            "metadata.name",
                            "use at most 63 of a-z, 0-9 and '-', not '-' at the ends"));
}

Status check_resources(const Resources& resources) {
  const std::string at = "spec.resources.";
  int64_t milli = resources.gpus ? resources.gpus->value : 0;
  bool fraction = milli > 0 && milli < 1000;
  if (milli > 1000 && milli % 1000 != 0)
    return error(Code::kInvalid, cat("must be a whole number above 1, not ", format_milli(milli)),
                 at + "gpus", "ask for 1 or 2 whole ones, or for a part of one");
  bool none = resources.gpus && milli == 0;
  if (none && (resources.gpuMemory || resources.gpuCompute))
    return error(Code::kInvalid, "is 0, but a slice is asked for as well", at + "gpus",
                 "leave it out or say 1");
  if (fraction && (resources.gpuMemory || resources.gpuCompute))
    return error(Code::kInvalid,
                 cat("is ", format_milli(milli), ", and gpuMemory or gpuCompute says it again"),
                 at + "gpus", "give either a fraction, or gpuMemory and gpuCompute");
  if (resources.accelerator && !resources.accelerator->devices.empty()) {
    size_t named = resources.accelerator->devices.size();
    std::set<std::string> distinct(resources.accelerator->devices.begin(),
                                   resources.accelerator->devices.end());
    if (distinct.size() != named)
      return error(Code::kInvalid, "names a device twice", at + "accelerator.devices");
    int64_t wanted = resources.gpus ? (milli + 999) / 1000 : static_cast<int64_t>(named);
    if (wanted != static_cast<int64_t>(named))
      return error(Code::kInvalid,
                   cat("is ", format_milli(milli), ", but accelerator.devices names ", named),
                   at + "gpus", "leave gpus out");
  }
  if (resources.shm && resources.memory && *resources.shm > *resources.memory)
    return error(Code::kInvalid,
                 cat("is larger than the memory limit of ", format_memory(*resources.memory)),
                 at + "shm", "what lies in /dev/shm counts as memory of the task");
  return Ok;
}

// The server's part of a generated name: 12 characters are enough for any number of jobs.
constexpr size_t kGeneratedLimit = 63 - 12;

Status check_generated_name(const Metadata& metadata) {
  const std::string& prefix = metadata.generateName;
  if (prefix.empty()) return Ok;
  bool fits =
      prefix.size() <= kGeneratedLimit &&
      schema::check_format(schema::Path{}, {}, cat(prefix, "x"), schema::Format::kName).ok();
  if (fits) return Ok;
  return error(Code::kInvalid, cat(quoted(prefix), " cannot begin a name"), "metadata.generateName",
               cat("use at most ", kGeneratedLimit, " of a-z, 0-9 and '-', not '-' in front"));
}

Status check_signal(const std::string& name, std::string_view field) {
  if (name.empty()) return Ok;
  auto signal = canonical_signal(name);
  if (signal.ok()) return Ok;
  return error(Code::kInvalid, signal.error().message, std::string(field), signal.error().hint);
}

Status check_array(const JobSpec& spec) {
  if (!spec.array) return Ok;
  auto indices = parse_indices(spec.array->indices);
  if (!indices.ok())
    return error(Code::kInvalid, indices.error().message, "spec.array.indices",
                 indices.error().hint);
  if (spec.replicas > 1)
    return error(Code::kInvalid, "is an array, and each of its tasks is one container",
                 "spec.array", "leave out spec.replicas, or submit several gangs");
  if (spec.rendezvous)
    return error(Code::kInvalid, "is for the replicas of a gang, and an array's tasks are none",
                 "spec.rendezvous", "leave it out");
  if (spec.tty || spec.stdin_)
    return error(Code::kInvalid, "an array cannot share one terminal or standard input",
                 "spec.array");
  return Ok;
}

Status check_timing(const JobSpec& spec) {
  if (spec.endWarning && !spec.maxRuntime)
    return error(Code::kInvalid, "warns before the maximum runtime ends, and there is none",
                 "spec.endWarning", "give spec.maxRuntime");
  if (spec.endWarning) TRY_STATUS(check_signal(spec.endWarning->signal, "spec.endWarning.signal"));
  bool counted = spec.rendezvous && spec.rendezvous->processes;
  if (counted && spec.rendezvous->ranks != RankStyle::kNode)
    return error(Code::kInvalid, "is for ranks: Node; with ranks: Process each replica is one",
                 "spec.rendezvous.processes", "leave it out, or say ranks: Node");
  return Ok;
}

}  // namespace

Result<std::string> canonical_signal(std::string_view name) {
  std::string wanted(trim(name));
  for (char& c : wanted) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  auto number = to_int(wanted);
  for (const auto& [known, value] : kSignals)
    if (known == wanted || known.substr(3) == wanted || number == value) return std::string(known);
  return error(Code::kInvalid, cat(quoted(name), " is not a signal"), {},
               "for example SIGTERM, SIGINT or SIGUSR1");
}

Status validate(const Job& job) {
  TRY_STATUS(check_name(job.metadata, false));
  TRY_STATUS(check_generated_name(job.metadata));
  if (auto image = parse_reference(job.spec.image); !image.ok())
    return error(Code::kInvalid, image.error().message, "spec.image", image.error().hint);
  if (std::count(job.spec.user.begin(), job.spec.user.end(), ':') > 1)
    return error(Code::kInvalid, cat(quoted(job.spec.user), " is not a user and a group"),
                 "spec.user", "write it like 1000, 1000:1000 or app:users");
  TRY_STATUS(check_resources(job.spec.resources));
  TRY_STATUS(check_signal(job.spec.stopSignal, "spec.stopSignal"));
  TRY_STATUS(check_array(job.spec));
  TRY_STATUS(check_timing(job.spec));
  if ((job.spec.tty || job.spec.stdin_) && job.spec.replicas > 1)
    return error(Code::kInvalid, "a gang cannot share one terminal or standard input",
                 "spec.replicas");
  return validate_container(job.spec);
}

Status validate(const Project& project) {
  TRY_STATUS(check_name(project.metadata, true));
  const std::vector<std::string>& granted = project.spec.privileges.capabilities;
  for (size_t i = 0; i < granted.size(); ++i)
    if (auto known = canonical_capability(granted[i]); !known.ok())
      return error(Code::kInvalid, known.error().message,
                   cat("spec.privileges.capabilities[", i, "]"), known.error().hint);
  return Ok;
}

Status validate(const Secret& secret) {
  TRY_STATUS(check_name(secret.metadata, true));
  size_t bytes = 0;
  for (const auto& [key, value] : secret.data) bytes += key.size() + value.size();
  if (bytes > kSecretBytesLimit)
    return error(Code::kExhausted,
                 cat("holds ", bytes, " bytes; at most ", kSecretBytesLimit, " are allowed"),
                 "data");
  return Ok;
}

Status validate(const User& user) {
  return check_name(user.metadata, true);
}

Status validate(const Token& token) {
  return check_name(token.metadata, false);
}

}  // namespace tessera::api
