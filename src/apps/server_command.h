#pragma once
// `tessera server`: the flags, and the only place where a concrete engine is named.

#include "cli/command.h"

namespace tessera::apps {

inline constexpr std::string_view kDefaultData = "/var/lib/tessera";

cli::Command server_command();
// A word that only our own processes say.
cli::Command probe_nvml_command();

}  // namespace tessera::apps
