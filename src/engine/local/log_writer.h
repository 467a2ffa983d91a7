#pragma once
// The process that writes one container's log. The containerd shim starts it (log URI
// "binary://…") and it lives as long as the container, whatever becomes of the server and of
// containerd. The container must never wait for the disk: what cannot be written is dropped, and
// counted, and the log says so once it can be written again.

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/local/log_format.h"

namespace tessera::local {

// The log URI for containerd: runs `program log-writer <argument>`. containerd passes on one
// argument (the query of the URI is a map without order), so it carries the limits as well.
std::string log_writer_uri(const std::string& program, const std::string& folder,
                           const LogLimits& limits);

// Makes what the writer needs in the folder of an attempt.
Status prepare_log_folder(const std::string& folder);

// The whole process: reads the container's stdout and stderr (descriptors 3 and 4) until both end
// or SIGTERM comes, after it has closed descriptor 5 to say that it is ready. Returns its exit
// code.
int run_log_writer(std::string_view argument);

}  // namespace tessera::local
