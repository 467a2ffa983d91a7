#pragma once
// Jobs as people name them.

#include <string>
#include <string_view>

#include "cli/command.h"

namespace tessera::cli {

// The name in "train", "job/train" or "15": a number is looked up among the jobs of the project,
// and is a name when no job has it.
Result<std::string> find_job(Context& context, const std::string& project,
                             std::string_view operand);
// The same in the caller's project.
Result<std::string> find_job(Context& context, std::string_view operand);

// Submits the job to the project; asks again when the answer was lost, which the key makes safe.
Result<api::Job> create_job(Context& context, const std::string& project, const api::Job& job);

}  // namespace tessera::cli
