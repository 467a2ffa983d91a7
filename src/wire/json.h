#pragma once
// JSON text to and from Value trees. Only this folder's .cc files know RapidJSON and yaml-cpp.

#include <string>
#include <string_view>

#include "api/value.h"
#include "base/result.h"

namespace tessera::wire {

// Deeper documents are refused: every recursion over a Value is then bounded.
inline constexpr int kDepthLimit = 64;

Result<Value> parse_json(std::string_view text);
// Compact when `indent` is negative; bytes that are not UTF-8 are replaced.
std::string to_json(const Value& value, int indent = -1);

}  // namespace tessera::wire
