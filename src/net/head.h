#pragma once
// What HTTP/1.1 writes around a body. For net's own files.

#include <string>

#include "net/http.h"

namespace tessera::net {

// How the end of a body is told.
enum class Framing { kLength, kChunked, kUntilClose };

// Line ends and control characters in values become spaces: a value cannot smuggle in a header.
std::string response_head(const Response& response, Framing framing, bool keep_alive);
std::string request_head(const Request& request);

// What goes around `bytes` of a body in chunked framing, and after the last of them.
struct ChunkFrame {
  std::string before;
  std::string after;
};
ChunkFrame frame_chunk(size_t bytes, bool last);

}  // namespace tessera::net
