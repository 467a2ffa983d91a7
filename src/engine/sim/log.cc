#include "engine/sim/log.h"

#include <algorithm>

namespace tessera::engine::sim {

void Log::append(Instant at, int stream, std::string_view text) {
  text = text.substr(0, kLogLimitBytes - bytes_);
  bytes_ += text.size();
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view piece = text.substr(0, end == text.npos ? end : end + 1);
    pieces_.push_back({at, stream, !within_line_[stream], std::string(piece)});
    within_line_[stream] = end == text.npos;
    text.remove_prefix(piece.size());
  }
}

size_t Log::first_piece(const LogQuery& query) const {
  size_t first = 0;
  if (query.tail) {
    int64_t lines = 0;
    first = pieces_.size();
    while (first > 0 && lines < *query.tail)
      if (pieces_[--first].starts_line) ++lines;
  }
  if (query.since)
    while (first < pieces_.size() && pieces_[first].at < *query.since) ++first;
  return first;
}

}  // namespace tessera::engine::sim
