#include "cli/commands.h"

namespace tessera::cli {

std::vector<Command> commands(std::vector<Command> more) {
  auto list = [more] { return commands(more); };
  std::vector<Command> out = {
      run_command(),
      submit_command(),
      ps_command(),
      queue_command(),
      why_command(),
      logs_command(),
      exec_command(),
      attach_command(),
      cp_command(),
      port_forward_command(),
      stop_command(),
      signal_command(),
      wait_command(),
      get_command(),
      describe_command(),
      apply_command(),
      create_project_command(),
      delete_command(),
      events_command(),
      top_command(),
      usage_command(),
      simulate_command(),
      nodes_command(),
      cordon_command(),
      uncordon_command(),
      image_ls_command(),
      image_pull_command(),
      image_import_command(),
      image_rm_command(),
      image_build_command(),
      image_inspect_command(),
      image_prune_command(),
      login_command(),
      context_ls_command(),
      context_use_command(),
      context_rm_command(),
      whoami_command(),
      user_create_command(),
      user_ls_command(),
      user_set_command(),
      user_rm_command(),
      token_create_command(),
      token_ls_command(),
      token_rm_command(),
      project_set_command(),
      project_members_command(),
      project_grant_command(),
      project_revoke_command(),
      audit_command(),
      version_command(),
      completion_command(),
      complete_command(list),
      reference_command(list),
  };
  for (Command& command : more) out.push_back(std::move(command));
  return out;
}

}  // namespace tessera::cli
