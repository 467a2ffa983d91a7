#include "core/lifecycle.h"

#include "base/text.h"

namespace tessera::core {

std::string lifecycle_diagram() {
  std::string out = "stateDiagram-v2\n    [*] --> Queued\n";
  for (const Move& move : kMoves) {
    out += cat("    ", enum_names(move.from)[static_cast<size_t>(move.from)], " --> ",
               enum_names(move.to)[static_cast<size_t>(move.to)], ": ",
               enum_names(move.event)[static_cast<size_t>(move.event)]);
    std::string_view follow = enum_names(move.follow)[static_cast<size_t>(move.follow)];
    out += follow.empty() ? "\n" : cat(" / ", follow, "\n");
  }
  auto names = enum_names(Phase{});
  for (size_t i = 0; i < names.size(); ++i)
    if (api::is_terminal(static_cast<Phase>(i))) out += cat("    ", names[i], " --> [*]\n");
  return out;
}

}  // namespace tessera::core
