// usage: who used what, summed up as it is asked for.

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "server/encode.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::Nothing, api::UsageBy;

namespace {

Result<store::UsageQuery> parse_query(const api::UsageQuery& query) {
  store::UsageQuery out;
  auto day = [](const std::string& text, std::string_view field, int64_t& into) -> Status {
    if (text.empty()) return Ok;
    Result<int64_t> parsed = core::parse_day(text);
    if (!parsed.ok()) {
      Error failure = std::move(parsed).error();
      failure.field = field;
      return failure;
    }
    into = *parsed;
    return Ok;
  };
  TRY_STATUS(day(query.since, "since", out.since));
  TRY_STATUS(day(query.until, "until", out.until));
  if (out.since > out.until)
    return error(Code::kInvalid, cat("is before ", query.since, ", the first day"), "until");
  if (!query.project.empty()) out.project = query.project;
  return out;
}

// Thousandths to whole ones, to the nearest.
int64_t whole(int64_t thousandths) {
  return (thousandths + 500) / 1000;
}

std::vector<api::UsageRow> sum_up(const core::UsageSums& sums, const std::vector<UsageBy>& by,
                                  const std::function<bool(const std::string& project)>& shown) {
  auto asked = [&](UsageBy what) { return std::ranges::find(by, what) != by.end(); };
  std::map<std::array<std::string, 3>, core::Usage> rows;
  for (const auto& [key, usage] : sums) {
    if (!shown(key.account.project)) continue;
    rows[{asked(UsageBy::kProject) ? key.account.project : "",
          asked(UsageBy::kUser) ? key.account.user : "",
          asked(UsageBy::kDay) ? core::format_day(key.day) : ""}] += usage;
  }
  std::vector<api::UsageRow> out;
  for (const auto& [key, usage] : rows)
    out.push_back({.project = key[0],
                   .user = key[1],
                   .day = key[2],
                   .acceleratorMs = whole(usage.accelerators),
                   .cpuMs = whole(usage.cpus),
                   .memoryMibSeconds = whole(usage.memory),
                   .jobs = usage.jobs,
                   .failed = usage.failed});
  return out;
}

void answer(const Call& call, const api::UsageReport& report) {
  if (static_cast<int64_t>(report.items.size()) <= api::kUsageRowLimit)
    return call.answer_object(report);
  call.refuse(error(Code::kExhausted,
                    cat("the report has more than ", api::kUsageRowLimit, " rows"), "by",
                    "ask for fewer days, or for sums over them"));
}

void report(Services& services, const Call& call, api::UsageQuery query) {
  std::shared_ptr<const Accounts> accounts = services.view.accounts();
  auto shown = [accounts, caller = call.caller](const std::string& project) {
    return accounts->allows(caller, api::Permission::kViewProject, project);
  };
  if (!query.project.empty() && !shown(query.project))
    return call.refuse(error(Code::kPermissionDenied,
                             cat("you have no role in project ", quoted(query.project)), "project",
                             "a maintainer of it gives you one"));
  Result<store::UsageQuery> wanted = parse_query(query);
  if (!wanted.ok()) return call.refuse(wanted.error());
  if (query.by.empty()) query.by = {UsageBy::kProject, UsageBy::kUser};
  Instant now = wall_now();
  services.brain.read_usage(std::move(*wanted), now,
                            [call, by = query.by, now, shown](Result<core::UsageSums> sums) {
                              if (!sums.ok()) return call.refuse(sums.error());
                              answer(call, {.time = now, .items = sum_up(*sums, by, shown)});
                            });
}

}  // namespace

void bind_usage(Router& router, Services& services) {
  router.bind(routes::kUsage, std::function([&services](Call call, api::UsageQuery query, Nothing) {
                report(services, call, std::move(query));
              }));
}

}  // namespace tessera::server
