#pragma once
// Small parsers for values of flags, shared by the files that read run's.

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/text.h"
#include "cli/flags.h"

namespace tessera::cli {

inline Error at_flag(std::string_view flag, Error failure) {
  failure.field = Args::label(flag);
  return failure;
}

// Runs a parser on each value of the flag and names the flag in its error.
template <class Parse, class Take>
Status with_value(const Args& args, std::string_view flag, Parse parse, Take take) {
  for (const std::string& text : args.all(flag)) {
    auto parsed = parse(text);
    if (!parsed.ok()) return at_flag(flag, std::move(parsed).error());
    take(std::move(*parsed));
  }
  return Ok;
}

inline Result<int64_t> parse_integer(std::string_view text) {
  if (auto number = to_int(text)) return *number;
  return error(Code::kInvalid, cat(quoted(text), " is not a whole number"));
}

inline Result<std::string> parse_text(std::string_view text) {
  return std::string(text);
}

}  // namespace tessera::cli
