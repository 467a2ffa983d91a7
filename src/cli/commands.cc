#include "cli/commands.h"

namespace tessera::cli {

std::vector<Command> commands(std::vector<Command> more) {
  auto list = [more] { return commands(more); };
  std::vector<Command> out = {
      run_command(),          ps_command(),
      queue_command(),        why_command(),
      logs_command(),         exec_command(),
      attach_command(),       stop_command(),
      signal_command(),       wait_command(),
      get_command(),          describe_command(),
      apply_command(),        create_project_command(),
      delete_command(),       events_command(),
      top_command(),          nodes_command(),
      cordon_command(),       uncordon_command(),
      image_ls_command(),     image_pull_command(),
      image_import_command(), image_rm_command(),
      version_command(),      completion_command(),
      complete_command(list), reference_command(list),
  };
  for (Command& command : more) out.push_back(std::move(command));
  return out;
}

}  // namespace tessera::cli
