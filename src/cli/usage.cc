// usage: who used what, as a table of hours.

#include "core/usage.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/csv.h"
#include "cli/flag_values.h"
#include "cli/table.h"
#include "wire/json.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;
using api::UsageBy, api::UsageRow;

constexpr std::string_view kSinceDefault = "30d";

// "7d" is the day a week ago, "2026-01-31" that day.
Result<std::string> parse_since(std::string_view text, Instant now) {
  if (auto day = core::parse_day(text); day.ok()) return core::format_day(*day);
  auto span = parse_duration(text);
  if (span.ok()) return core::format_day(core::day_of(now + *span * -1));
  return error(Code::kInvalid, cat(quoted(text), " is neither a day nor a duration"),
               Args::label("since"), "write it like 2026-01-31 or 7d");
}

Result<std::vector<UsageBy>> parse_by(std::string_view text) {
  constexpr auto kNames = enum_names(UsageBy{});
  std::vector<UsageBy> out;
  for (const std::string& word : split(text, ',')) {
    auto found = std::ranges::find(kNames, word);
    if (found == kNames.end())
      return error(Code::kInvalid, cat(quoted(word), " is none of project, user, day"),
                   Args::label("by"), "write it like --by project,day");
    auto by = static_cast<UsageBy>(found - kNames.begin());
    if (std::ranges::find(out, by) == out.end()) out.push_back(by);
  }
  return out;
}

// Units of which `per_hour` make an hour, with so many decimals: "12.50".
std::string hours(int64_t amount, int64_t per_hour, int decimals) {
  int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  auto scaled = (static_cast<__int128>(amount) * scale + per_hour / 2) / per_hour;
  auto number = static_cast<int64_t>(scaled);
  return cat(number / scale, ".", cat(scale + number % scale).substr(1));
}

std::vector<std::string> amounts(const UsageRow& row, int decimals) {
  constexpr int64_t kMsOfHour = 3'600'000, kMibSecondsOfGibHour = int64_t{3'600} * 1024;
  return {hours(row.acceleratorMs, kMsOfHour, decimals), hours(row.cpuMs, kMsOfHour, decimals),
          hours(row.memoryMibSeconds, kMibSecondsOfGibHour, decimals), cat(row.jobs),
          cat(row.failed)};
}

std::vector<std::string> keys(const UsageRow& row, const std::vector<UsageBy>& by) {
  std::vector<std::string> out;
  for (UsageBy what : by)
    out.push_back(what == UsageBy::kProject ? row.project
                  : what == UsageBy::kUser  ? row.user
                                            : row.day);
  return out;
}

std::vector<std::string> joined(std::vector<std::string> head, std::vector<std::string> tail) {
  std::ranges::move(tail, std::back_inserter(head));
  return head;
}

UsageRow total_of(const std::vector<UsageRow>& rows) {
  UsageRow sum;
  for (const UsageRow& row : rows) {
    sum.acceleratorMs += row.acceleratorMs;
    sum.cpuMs += row.cpuMs;
    sum.memoryMibSeconds += row.memoryMibSeconds;
    sum.jobs += row.jobs;
    sum.failed += row.failed;
  }
  return sum;
}

std::string csv_of(const std::vector<UsageRow>& rows, const std::vector<UsageBy>& by) {
  std::vector<std::string> head;
  for (UsageBy what : by) head.emplace_back(enum_names(what)[static_cast<size_t>(what)]);
  std::string out = csv_line(
      joined(head, {"accelerator_hours", "cpu_hours", "memory_gib_hours", "jobs", "failed"}));
  for (const UsageRow& row : rows) out += csv_line(joined(keys(row, by), amounts(row, 6)));
  return out;
}

std::string table_of(const std::vector<UsageRow>& rows, const std::vector<UsageBy>& by) {
  Table table;
  for (UsageBy what : by) {
    std::string_view name = enum_names(what)[static_cast<size_t>(what)];
    std::string& header = table.headers.emplace_back();
    for (char c : name) header += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  table.headers = joined(table.headers, {"GPU-HOURS", "CPU-HOURS", "GIB-HOURS", "JOBS", "FAILED"});
  for (const UsageRow& row : rows) {
    std::vector<std::string> cells = keys(row, by);
    std::ranges::transform(cells, cells.begin(), or_dash);
    table.rows.push_back(joined(std::move(cells), amounts(row, 2)));
  }
  if (rows.size() > 1) {
    std::vector<std::string> cells(by.size());
    cells.front() = "(all)";
    table.rows.push_back(joined(std::move(cells), amounts(total_of(rows), 2)));
  }
  return table.text();
}

Result<int> usage(Context& context, const Args& args) {
  api::UsageQuery query{.since = {}, .until = {}, .by = {}, .project = args.text("project")};
  TRY(query.since, parse_since(args.text("since", kSinceDefault), wall_now()));
  if (args.has("until")) {
    auto day = core::parse_day(args.text("until"));
    if (!day.ok()) return at_flag("until", std::move(day).error());
    query.until = core::format_day(*day);
  }
  TRY(query.by, parse_by(args.text("by", "project,user")));
  TRY(api::UsageReport report, context.client.call(routes::kUsage, {}, query));
  std::string format = args.text("output");
  // In the order in which the columns stand.
  std::ranges::stable_sort(report.items, {},
                           [&](const UsageRow& row) { return keys(row, query.by); });
  if (format == "json")
    context.console.print(cat(wire::to_json(schema::encode(report), 2), "\n"));
  else if (format == "csv")
    context.console.print(csv_of(report.items, query.by));
  else if (report.items.empty())
    context.console.print(cat("Nothing was used since ", query.since, ".\n"));
  else
    context.console.print(table_of(report.items, query.by));
  return 0;
}

}  // namespace

Command usage_command() {
  return {
      .name = "usage",
      .operands = "",
      .doc = "Shows who used what: hours of accelerators, CPU cores and GiB of memory, and jobs.",
      .details =
          "What a job holds counts from its placement until its container is gone, also over "
          "retries and restarts of the server; a slice counts as the part that it is. JOBS are "
          "those that ended. It is kept for ever, also of jobs and projects that are gone. "
          "--project shows only that one.",
      .flags =
          {{"since", 0, "DAY", "First day (UTC), or how long ago: 7d; 30d else.", {}},
           {"until", 0, "DAY", "Last day (UTC); today when not given.", {}},
           {"by", 0, "LIST", "A row for each of these: project, user, day; project,user else.", {}},
           {"output", 'o', "FORMAT", "How to print.", {"table", "json", "csv"}}},
      .run = usage};
}

}  // namespace tessera::cli
