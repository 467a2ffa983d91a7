#pragma once
// The command line: entry point for main().

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace tessera::cli {

// Runs `tessera WORDS…` and returns the exit code. `more` are commands of the program that this
// library does not know (server); they stand in the help like the others.
int run_cli(std::span<const std::string> words, const Console& console,
            std::vector<Command> more = {});
// The same for main(): argv[0] is left out.
int run_cli(int argc, char** argv, std::vector<Command> more = {});

}  // namespace tessera::cli
