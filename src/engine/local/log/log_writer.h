#pragma once
// The process that writes one container's log. The containerd shim starts it (log URI
// "binary://…") and it lives as long as the container, whatever becomes of the server and of
// containerd. The container must never wait for the disk: what cannot be written is dropped, and
// counted, and the log says so once it can be written again.

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/local/log/log_format.h"

namespace tessera::local {

// The log URI for containerd: runs `program log <argument>`. containerd passes on one argument (the
// query of the URI is a map without order), so it carries the limits as well.
std::string log_writer_uri(const std::string& program, const std::string& folder,
                           const LogLimits& limits);

// Makes what the writer needs in the folder of an attempt that is about to start. What an earlier
// try of this attempt has said is removed: its program never ran.
Status prepare_log_folder(const std::string& folder);

// For a container whose standard input is open: the shim does not start a writer then, it only
// passes on between pipes. `program log <argument> <pipe> <pipe>` reads stdout and stderr from
// those named pipes and, once it has opened them, goes on in the background.
Status start_log_writer(const std::string& program, const std::string& folder,
                        const LogLimits& limits, const std::string& out_pipe,
                        const std::string& err_pipe);
// Ends a writer whose pipes nobody has opened for writing, and never will.
void dismiss_log_writer(const std::string& out_pipe, const std::string& err_pipe);

// The whole process. With one argument: reads the container's stdout and stderr (descriptors 3 and
// 4) until both end or SIGTERM comes, after it has closed descriptor 5 to say that it is ready.
// Returns its exit code.
int run_log_writer(const std::vector<std::string>& arguments);

}  // namespace tessera::local
