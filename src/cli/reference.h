#pragma once
// Reference pages, made from the tables: docs/reference/ is printed by `tessera reference`.

#include <span>
#include <string>

#include "cli/command.h"

namespace tessera::cli {

// docs/reference/api.md: the kinds and their fields, the endpoints, the errors.
std::string reference_api();
// docs/reference/cli.md: every command with its flags.
std::string reference_cli(std::span<const Command> commands);
// docs/reference/submit.md and kubernetes.md: what works, and what is refused and why.
std::string reference_submit();
std::string reference_kubernetes();
// docs/docker-flags.md: each flag of docker run, what it does here or why it is refused.
std::string reference_docker_flags();

}  // namespace tessera::cli
