#pragma once
// What one attempt wrote, with times. All methods with the timeline's lock held.

#include <span>
#include <vector>

#include "engine/engine.h"

namespace tessera::engine::sim {

// Virtual programs print little, but one that copies its input could fill the memory of the host.
inline constexpr size_t kLogLimitBytes = size_t{1} << 20;

// At most one line, and of one write.
struct LogPiece {
  Instant at;
  int stream = 1;
  bool starts_line = true;
  std::string text;
};

class Log {
 public:
  void append(Instant at, int stream, std::string_view text);  // beyond the limit it is dropped
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

  // Where a reader of `query` begins, and all from there on.
  size_t first_piece(const LogQuery& query) const;
  std::span<const LogPiece> from(size_t piece) const { return std::span(pieces_).subspan(piece); }

 private:
  std::vector<LogPiece> pieces_;
  size_t bytes_ = 0;
  bool within_line_[3] = {};  // by stream
  bool closed_ = false;
};

}  // namespace tessera::engine::sim
