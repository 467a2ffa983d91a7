#pragma once
// Jobs as docker ps and squeue show them. Pure.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/job.h"
#include "cli/table.h"

namespace tessera::cli {

// docker ps: NAME IMAGE COMMAND CREATED STATUS GPUS NODE.
Table ps_table(const std::vector<api::Job>& jobs, Instant now, bool with_project);

// squeue: PARTITION (the project) NAME USER ST TIME NODES GPUS NODELIST(REASON). `nodes`: of the
// gangs, by uid; other jobs have the one in their status.
using NodesOfGangs = std::map<std::string, std::set<std::string>>;
Table queue_table(std::vector<api::Job> jobs, const NodesOfGangs& nodes, Instant now);

// squeue's short code: PD R CG CD F CA TO NF OOM PR CF.
std::string state_code(const api::JobStatus& status);

}  // namespace tessera::cli
