#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace tessera {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (true) {
    size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != parts.data()) out += separator;
    out += part;
  }
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t start = 0;
  for (size_t at; (at = text.find(from, start)) != std::string_view::npos;
       start = at + from.size()) {
    out += text.substr(start, at - start);
    out += to;
  }
  out += text.substr(start);
  return out;
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return lower(text).find(lower(part)) != std::string::npos;
}

std::optional<int64_t> to_int(std::string_view text) {
  int64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return value;
}

namespace {

// Insertions, deletions, substitutions and swaps of neighbours ("Jbo") each count as one slip.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1), above(b.size() + 1), two_above(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    two_above.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates) {
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  std::string folded = lower(word);
  for (std::string_view candidate : candidates) {
    size_t distance = edit_distance(folded, lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = std::string(candidate);
    }
  }
  return best;
}

std::string plural(int64_t count, std::string_view noun) {
  return cat(count, " ", noun, count == 1 ? "" : "s");
}

namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

size_t find_not_utf8(std::string_view text) {
  auto byte = [&](size_t at) {
    return static_cast<unsigned char>(at < text.size() ? text[at] : 0);
  };
  for (size_t at = 0; at < text.size();) {
    uint64_t eight = 0;  // most texts are ASCII
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    unsigned first = byte(at);
    size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    // What the second byte may be tells overlong forms, surrogates and what lies beyond U+10FFFF.
    unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (length > 1 && (first < 0xC2 || first > 0xF4 || byte(at + 1) < low || byte(at + 1) > high))
      return at;
    for (size_t next = at + 2; next < at + length; ++next)
      if ((byte(next) & 0xC0) != 0x80) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string without_controls(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (char c : text) {
    if (!is_control(c))
      out += c;
    else if (c == '\n' || c == '\t')
      out += c == '\n' ? "\\n" : "\\t";
    else
      out += {'\\', 'x', kHex[static_cast<unsigned char>(c) >> 4], kHex[c & 15]};
  }
  return out;
}

std::string quoted(std::string_view text, size_t limit) {
  size_t end = std::min(limit, text.size());
  // Not in the middle of a character: its further bytes begin with the bits 10.
  while (end > 0 && end < text.size() && (text[end] & 0xC0) == 0x80) --end;
  return cat("'", without_controls(text.substr(0, end)), end < text.size() ? "…'" : "'");
}

}  // namespace tessera
