#pragma once
// How often someone has done something lately.

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/units.h"

namespace tessera::server {

// Keys counted at once: an attacker with more addresses than this starts again at zero with some of
// them, which costs us nothing but a longer log.
inline constexpr size_t kAttemptKeys = 4096;
inline constexpr Millis kAttemptWindow{60'000};

// Counts per key and window. For one thread.
class Attempts {
 public:
  // Counts one more; how many there are in the key's window now.
  int64_t add(const std::string& key, Instant now);
  // Until the key's window is over.
  Millis left(const std::string& key, Instant now) const;
  size_t size() const { return windows_.size(); }

 private:
  struct Window {
    Instant begin;
    int64_t count = 0;
  };
  void make_room(Instant now);

  std::unordered_map<std::string, Window> windows_;
};

}  // namespace tessera::server
