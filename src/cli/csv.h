#pragma once
// Records of comma separated values (RFC 4180), as docker reads --gpus and --mount.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::cli {

// "a,\"b,c\"" → {a, "b,c"}. kInvalid on an empty text, a line break or a stray quote.
Result<std::vector<std::string>> parse_csv_record(std::string_view text);
// The other way round, with a line break.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace tessera::cli
