#pragma once
// docker run's flags about the container itself (network, rights, devices, ports, health, restarts)
// as fields of a job. Pure.

#include "cli/run_flags.h"

namespace tessera::cli {

// In the order of the help.
std::vector<Flag> container_flags();
// Of run, exec and attach.
Flag detach_keys_flag();

// Sets what these flags ask for. kInvalid names the flag.
Status set_container(const Args& args, RunPlan& plan);

// "[ADDRESS:][HOST_PORT]:PORT[/PROTOCOL]", each port perhaps a range: docker's --publish.
Result<std::vector<api::Port>> parse_publish(std::string_view text);

// "/path[:size=64m,mode=1777,exec,…]": docker's --tmpfs.
Result<api::TmpfsMount> parse_tmpfs(std::string_view text);

// "ctrl-p,ctrl-q", "a,ctrl-]": the bytes that these keys send.
Result<std::string> parse_detach_keys(std::string_view text);

}  // namespace tessera::cli
