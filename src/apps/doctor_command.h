#pragma once
// `tessera doctor`: what is wrong with this machine, and the command that mends it.

#include "cli/command.h"

namespace tessera::apps {

cli::Command doctor_command();

}  // namespace tessera::apps
