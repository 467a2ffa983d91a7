#pragma once
// Help texts from the rows of commands.

#include <span>
#include <string>

#include "cli/command.h"

namespace tessera::cli {

std::string overview(std::span<const Command> commands);
std::string usage_line(const Command& command);
std::string help(const Command& command);

}  // namespace tessera::cli
