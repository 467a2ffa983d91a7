#pragma once
// What HTTP/1.1 writes in front of a body. For net's own files.

#include <string>

#include "net/http.h"

namespace tessera::net {

// How the end of a body is told.
enum class Framing { kLength, kChunked, kUntilClose };

// Line ends and control characters in values become spaces: a value cannot smuggle in a header.
std::string response_head(const Response& response, Framing framing, bool keep_alive);
std::string request_head(const Request& request);

}  // namespace tessera::net
