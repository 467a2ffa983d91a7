#pragma once
// Environment variables that programs expect by convention: rendezvous of torch and MPI, and
// Slurm's.

#include <map>
#include <string>

#include "api/job.h"

namespace tessera::server {

// Names to values; the job's own variables go over them.
std::map<std::string, std::string> convention_env(const api::Job& job, const api::Task& task);

// Processes of each replica: for ranks, and for slots in a hostfile.
int64_t processes_of(const api::JobSpec& spec, const api::Task& task);

}  // namespace tessera::server
