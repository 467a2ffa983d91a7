#pragma once
// YAML text (1.2 core schema) to and from Value trees; each value knows its line.

#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"
#include "base/result.h"

namespace tessera::wire {

// One document; an empty text is null.
Result<Value> parse_yaml(std::string_view text);
// All documents of a stream separated by '---'; empty ones are left out.
Result<std::vector<Value>> parse_yaml_stream(std::string_view text);
std::string to_yaml(const Value& value);

}  // namespace tessera::wire
