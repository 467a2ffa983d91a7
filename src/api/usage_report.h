#pragma once
// Who used what: the answer to 'tessera usage'.

#include "api/metadata.h"

namespace tessera::api {

// What each row of a report is about.
enum class UsageBy { kProject, kUser, kDay };
constexpr std::array<std::string_view, 3> enum_names(UsageBy) {
  return {"project", "user", "day"};
}

struct UsageQuery {
  std::string since;
  std::string until;
  std::vector<UsageBy> by;
  std::string project;

  bool operator==(const UsageQuery&) const = default;
  static constexpr std::string_view kTypeName = "UsageQuery";
  static constexpr auto fields() {
    return std::tuple(
        field("since", &UsageQuery::since, "First day, in UTC; the first that there is when empty.",
              {.maximum = 10, .example = "2026-01-01"}),
        field("until", &UsageQuery::until, "Last day, in UTC; today when empty.",
              {.maximum = 10, .example = "2026-01-31"}),
        field("by", &UsageQuery::by,
              "What to sum up by, the parameter given once for each; project and user when empty.",
              {.maximum = 3}),
        field("project", &UsageQuery::project, "Only this one.", {.maximum = 63}));
  }
};
static_assert(schema::complete<UsageQuery>());

struct UsageRow {
  std::string project;
  std::string user;
  std::string day;
  int64_t acceleratorMs = 0;
  int64_t cpuMs = 0;
  int64_t memoryMibSeconds = 0;
  int64_t jobs = 0;
  int64_t failed = 0;

  bool operator==(const UsageRow&) const = default;
  static constexpr std::string_view kTypeName = "UsageRow";
  static constexpr auto fields() {
    using U = UsageRow;
    return std::tuple(
        field("project", &U::project, "The project, when the report is by project."),
        field("user", &U::user, "Who submitted the jobs, when the report is by user."),
        field("day", &U::day, "The day in UTC, when the report is by day."),
        field("acceleratorMs", &U::acceleratorMs,
              "Accelerators held times the milliseconds that they were held; a slice counts as the "
              "part of one that it is.",
              {.required = true}),
        field("cpuMs", &U::cpuMs, "The same of CPU cores.", {.required = true}),
        field("memoryMibSeconds", &U::memoryMibSeconds, "MiB of memory held times seconds.",
              {.required = true}),
        field("jobs", &U::jobs, "Jobs that ended.", {.required = true}),
        field("failed", &U::failed, "Those of them that failed.", {.required = true}));
  }
};
static_assert(schema::complete<UsageRow>());

// A thousand users in ten projects each, for a hundred days.
inline constexpr int64_t kUsageRowLimit = 1'000'000;

struct UsageReport {
  Instant time;
  std::vector<UsageRow> items;

  bool operator==(const UsageReport&) const = default;
  static constexpr std::string_view kTypeName = "UsageReport";
  static constexpr auto fields() {
    return std::tuple(field("time", &UsageReport::time, "Running jobs are counted until then."),
                      field("items", &UsageReport::items,
                            "By project, user and day, as far as they were asked for.",
                            {.required = true, .maximum = kUsageRowLimit}));
  }
};
static_assert(schema::complete<UsageReport>());

}  // namespace tessera::api
