#pragma once
// The commands by family, and the one list of all.

#include "cli/command.h"

namespace tessera::cli {

// In the order of the help. `more` are added behind those of this library.
std::vector<Command> commands(std::vector<Command> more);

// job_run.cc, job_list.cc, job_logs.cc, job_control.cc, job_session.cc, job_copy.cc, job_port.cc
Command run_command();
Command submit_command();
Command ps_command();
Command queue_command();
Command logs_command();
Command exec_command();
Command attach_command();
Command cp_command();
Command port_forward_command();
Command stop_command();
Command signal_command();
Command wait_command();
Command why_command();
// object_get.cc, object_describe.cc, object_apply.cc, cluster.cc
Command get_command();
Command describe_command();
Command apply_command();
Command create_project_command();
Command delete_command();
Command nodes_command();
Command events_command();
Command cordon_command();
Command uncordon_command();
// top.cc, usage.cc
Command top_command();
Command usage_command();
Command simulate_command();
// login.cc, accounts.cc
Command login_command();
Command context_ls_command();
Command context_use_command();
Command context_rm_command();
Command whoami_command();
Command user_create_command();
Command user_ls_command();
Command user_set_command();
Command user_rm_command();
Command token_create_command();
Command token_ls_command();
Command token_rm_command();
Command project_set_command();
Command project_members_command();
Command project_grant_command();
Command project_revoke_command();
Command audit_command();
// images.cc, image_build.cc, image_inspect.cc, image_prune.cc
Command image_ls_command();
Command image_pull_command();
Command image_import_command();
Command image_rm_command();
Command image_build_command();
Command image_inspect_command();
Command image_prune_command();
// version.cc, completion.cc, reference.cc
Command version_command();
// These two describe the whole list, which they are given by a function, being in it themselves.
using ListCommands = std::function<std::vector<Command>()>;
Command completion_command();
Command complete_command(ListCommands list);
Command reference_command(ListCommands list);

}  // namespace tessera::cli
