#pragma once
// Bodies of what is over, made small for the store: jobs are kept for years, and looked at seldom.

#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::server {

// Raw deflate (RFC 1951) with a preset dictionary of the words that jobs and tasks are made of,
// behind a byte that names the dictionary. Some 0.3 of the JSON text.
std::string pack(std::string_view json);
// A text that is not packed is given back as it is. kInternal when the packed bytes are damaged.
Result<std::string> unpack(std::string body);

}  // namespace tessera::server
