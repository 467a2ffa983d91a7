#pragma once
// A batch script and its options as a Job. Pure: what has to be looked up comes in.

#include "cli/slurm/script.h"
#include "cli/slurm/times.h"
#include "cli/slurm/values.h"

namespace tessera::slurm {

// Who submits, and from where.
struct Submitter {
  std::string user;
  int64_t uid = 0, gid = 0;
  std::string home, folder, host;
  Variables environment;
  Clock clock;
};

// What is to be run. A wrapped command is a script, too.
struct Source {
  std::string text;
  std::string name;  // the script's own, without folders; "wrap"
  std::vector<std::string> arguments;
};
Source wrapped(std::string_view command);

struct Submission {
  api::Job job;
  std::string project;        // empty: the caller's
  std::string output, error;  // patterns; empty: the default, and with the output
  bool parsable = false, test_only = false, wait = false;
  std::vector<std::string> notes;  // for the person: what is otherwise than under Slurm
};

// Options of the command line go over those of the script; of several the last one counts. Errors
// name the line or the option. Jobs in spec.dependsOn are as written: a number is still to be
// looked up.
Result<Submission> plan_submission(const Source& source, const std::vector<Option>& command_line,
                                   const Submitter& submitter);

// The file that the output goes to when nothing is said.
std::string default_output(const api::JobSpec& spec);

}  // namespace tessera::slurm
