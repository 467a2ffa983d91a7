#pragma once
// Named pipes between us and a process of a container. The program must ignore SIGPIPE.

#include <string>
#include <string_view>

#include "base/file.h"
#include "base/units.h"

namespace tessera::local {

Status make_fifo(const std::string& path);

// Writes all of it, waiting for a reader that is slow. Fails when `until` (an eventfd) becomes
// readable, or when nobody reads any more.
Status write_to_pipe(const Fd& pipe, std::string_view bytes, const Fd& until);

}  // namespace tessera::local
