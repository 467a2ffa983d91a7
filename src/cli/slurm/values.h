#pragma once
// The values of sbatch's options that have a syntax of their own. Each function is pure: text in,
// the value or one sentence out.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/job.h"

namespace tessera::slurm {

struct Gpus {
  int64_t count = 0;
  std::string model;
  bool operator==(const Gpus&) const = default;
};
Result<Gpus> parse_gpus(std::string_view text);  // --gpus and its like: [MODEL:]N
Result<Gpus> parse_gres(std::string_view text);  // --gres: gpu, gpu:N, gpu:MODEL:N

Result<MiB> parse_size(std::string_view text);  // 4096 (MiB), 64G, 1T
Result<int64_t> parse_count(std::string_view text);
Result<int64_t> parse_nodes(std::string_view text);        // N or MIN-MAX: the least
Result<api::JobArray> parse_array(std::string_view text);  // 0-15:4%2

// --dependency. The jobs are as written: names, or numbers that are still to be looked up.
struct Dependencies {
  std::vector<api::Dependency> jobs;
  bool singleton = false;
  bool operator==(const Dependencies&) const = default;
};
Result<Dependencies> parse_dependency(std::string_view text);

// --signal: [B:]SIGNAL[@SECONDS].
Result<api::EndWarning> parse_signal(std::string_view text);

// Pyxis' [REGISTRY#]IMAGE as docker writes it.
Result<std::string> parse_image(std::string_view text);
// Pyxis' SRC:DST[:FLAGS],…; a relative source is taken from `folder`.
Result<std::vector<api::Volume>> parse_mounts(std::string_view text, std::string_view folder);

// --export: the names and values to set. Those of the caller are in `environment`.
using Variables = std::vector<std::pair<std::string, std::string>>;
Result<Variables> parse_export(std::string_view text, const Variables& environment);

// What %j and its like in a file name stand for.
struct PatternValues {
  std::string job_id, array_job_id, array_index, node, name, user;
};
// Fails for a letter that is not known, so that it is told before the job runs.
Result<std::string> expand_pattern(std::string_view pattern, const PatternValues& values);

}  // namespace tessera::slurm
