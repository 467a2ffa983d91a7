#include "cli/table.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::cli {

namespace {

constexpr size_t kGap = 3;

// Characters, not bytes: continuation bytes of UTF-8 take no room.
size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

void append_row(std::string& out, const std::vector<std::string>& cells,
                const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    if (i + 1 < cells.size()) line.append(widths[i] - width(cells[i]) + kGap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

std::string two_digits(int64_t number) {
  return cat(number < 10 ? "0" : "", number);
}

}  // namespace

std::string Table::text(bool with_headers, std::vector<size_t>* remembered) const {
  std::vector<size_t> own;
  std::vector<size_t>& widths = remembered ? *remembered : own;
  widths.resize(headers.size());
  for (size_t i = 0; with_headers && i < headers.size(); ++i)
    widths[i] = std::max(widths[i], width(headers[i]));
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  std::string out;
  if (with_headers) append_row(out, headers, widths);
  for (const auto& row : rows) append_row(out, row, widths);
  return out;
}

std::string short_age(Millis span) {
  int64_t seconds = std::max<int64_t>(0, span.value / 1000);
  if (seconds < 120) return cat(seconds, "s");
  if (seconds < 7200) return cat(seconds / 60, "m");
  if (seconds < 48 * 3600) return cat(seconds / 3600, "h");
  return cat(seconds / 86400, "d");
}

std::string long_age(Millis span) {
  int64_t seconds = std::max<int64_t>(0, span.value / 1000);
  if (seconds < 1) return "Less than a second";
  if (seconds < 60) return plural(seconds, "second");
  if (seconds < 120) return "About a minute";
  if (seconds < 3600) return plural(seconds / 60, "minute");
  if (seconds < 7200) return "About an hour";
  if (seconds < 48 * 3600) return plural(seconds / 3600, "hour");
  if (seconds < 14 * 86400) return plural(seconds / 86400, "day");
  return plural(seconds / (7 * 86400), "week");
}

std::string clock_time(Millis span) {
  int64_t seconds = std::max<int64_t>(0, span.value / 1000);
  int64_t days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;
  std::string rest = cat(":", two_digits(seconds % 60));
  if (days > 0) return cat(days, "-", two_digits(hours), ":", two_digits(minutes), rest);
  if (hours > 0) return cat(hours, ":", two_digits(minutes), rest);
  return cat(minutes, rest);
}

std::string shortened(std::string_view text, size_t limit) {
  if (width(text) <= limit) return std::string(text);
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end)
    if ((text[end] & 0xC0) != 0x80 && ++characters == limit) break;
  return cat(text.substr(0, end), "…");
}

std::string or_dash(std::string_view text) {
  return std::string(text.empty() ? "-" : text);
}

std::string gpus_text(const api::JobSpec& spec) {
  const api::Resources& wanted = spec.resources;
  if (!wanted.gpus && !wanted.gpuMemory) return "-";
  std::string out = format_milli(wanted.gpus.value_or(MilliGpu{1000}).value * spec.replicas);
  if (wanted.gpuMemory) out += cat("x", format_memory(*wanted.gpuMemory));
  return out;
}

}  // namespace tessera::cli
