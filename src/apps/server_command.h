#pragma once
// `tessera server`: the flags, and the only place where a concrete engine is named.

#include "cli/command.h"

namespace tessera::apps {

inline constexpr std::string_view kDefaultData = "/var/lib/tessera";

cli::Command server_command();
// Words that only our own processes say: the container's log writer and the NVML probe.
cli::Command log_writer_command();
cli::Command probe_nvml_command();

}  // namespace tessera::apps
