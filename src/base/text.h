#pragma once
// Small text helpers. Nothing here knows a domain word.

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

namespace text_detail {
inline void append(std::string& out, std::string_view part) {
  out += part;
}
inline void append(std::string& out, char part) {
  out += part;
}
template <std::integral I>
  requires(!std::same_as<I, char> && !std::same_as<I, bool>)
void append(std::string& out, I number) {
  char buffer[24];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  out.append(buffer, end);
}
}  // namespace text_detail

// cat("job ", name, " waits for ", 3, " GPUs"): joins strings and integers.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (text_detail::append(out, parts), ...);
  return out;
}

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);
bool contains_ignoring_case(std::string_view text, std::string_view part);

// The whole text as a decimal integer; nullopt when anything else is in it or it overflows.
std::optional<int64_t> to_int(std::string_view text);

// The candidate nearest to `word` by edit distance, when near enough to be a likely slip of the
// keyboard (at most a third of its letters differ). For "did you mean".
std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates);

// "1 GPU", "3 GPUs".
std::string plural(int64_t count, std::string_view noun);

// Where the first byte stands that is not UTF-8 (RFC 3629: no overlong form, no surrogate); npos
// when all are.
size_t find_not_utf8(std::string_view text);

// The text with its control characters as escapes, for a line in a terminal or a log.
std::string without_controls(std::string_view text);

// Quotes for a message: 'text', shortened to `limit` characters with an ellipsis.
std::string quoted(std::string_view text, size_t limit = 80);

}  // namespace tessera
