#include "server/attempts.h"

#include <algorithm>

namespace tessera::server {

int64_t Attempts::add(const std::string& key, Instant now) {
  if (!windows_.contains(key) && windows_.size() >= kAttemptKeys) make_room(now);
  Window& window = windows_[key];
  if (window.count == 0 || now - window.begin >= kAttemptWindow) window = {now, 0};
  return ++window.count;
}

Millis Attempts::left(const std::string& key, Instant now) const {
  auto found = windows_.find(key);
  if (found == windows_.end()) return Millis{0};
  return std::max(Millis{0}, found->second.begin + kAttemptWindow - now);
}

void Attempts::make_room(Instant now) {
  std::erase_if(windows_,
                [&](const auto& one) { return now - one.second.begin >= kAttemptWindow; });
  if (windows_.size() < kAttemptKeys) return;
  windows_.erase(
      std::ranges::min_element(windows_, {}, [](const auto& one) { return one.second.begin; }));
}

}  // namespace tessera::server
