#pragma once
// docker run's command line as a Job. Pure: what has to be looked up comes in.

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/job.h"
#include "base/result.h"
#include "cli/flags.h"
#include "client/settings.h"

namespace tessera::cli {

// The flags of run, in the order of the help: docker's, Tessera's own, and last the refused ones
// (cli/refusals.h).
std::vector<Flag> run_flags();
std::vector<Flag> docker_flags();
std::vector<Flag> own_flags();

struct RunInputs {
  client::Environment environment;  // for -e NAME without a value
  std::function<Result<std::string>(const std::string& path)> read_file;  // for --env-file
  std::string folder;  // the caller's, for -v ./here:/there
  // "uid:gid" and further groups of the caller, for jobs that mount folders; empty for root.
  std::string user;
  std::vector<std::string> groups;
};

struct RunPlan {
  api::Job job;
  bool all_gpus = false;  // resources.gpus is still to be set to the devices of a node
  bool detach = false;
  bool remove = false;
  bool quiet = false;
  std::string cidfile;             // where to write the job's name
  std::string detach_keys;         // the bytes that they send; empty: the usual ones
  std::vector<std::string> notes;  // for the person: what was understood otherwise than by docker
};

// Operands: IMAGE [COMMAND…]. kInvalid names the flag and says why.
Result<RunPlan> plan_run(const Args& args, const RunInputs& inputs);

// "-v /src:/dst[:ro]" of docker.
Result<api::Volume> parse_volume(std::string_view text, const std::string& folder);
// "--mount type=bind,source=…,target=…" and "--mount type=tmpfs,target=…".
Result<std::variant<api::Volume, api::TmpfsMount>> parse_mount(std::string_view text);
// "1777", in octal.
Result<int64_t> parse_mode(std::string_view text);

// Lines NAME=value or NAME of docker's --env-file into `env`.
Status read_env_file(std::string_view text, const client::Environment& environment,
                     std::map<std::string, std::string>& env);

// Durations (4h, 90m) and Slurm's forms (H:M:S, D-H:M). A bare number means minutes to one and
// seconds to others, so it is refused.
Result<Millis> parse_time_limit(std::string_view text);

}  // namespace tessera::cli
