#include "server/ledger.h"

namespace tessera::server {

std::vector<store::UsageRow> to_rows(const core::UsageSums& sums) {
  std::vector<store::UsageRow> rows;
  for (const auto& [key, usage] : sums)
    rows.push_back({.day = key.day,
                    .project = key.account.project,
                    .user = key.account.user,
                    .accelerators = usage.accelerators,
                    .cpus = usage.cpus,
                    .memory = usage.memory,
                    .jobs = usage.jobs,
                    .failed = usage.failed,
                    .until = usage.until});
  return rows;
}

Result<core::UsageSums> read_usage(store::Store& store, const core::Meters& meters,
                                   const store::UsageQuery& query, Instant now) {
  TRY(std::vector<store::UsageRow> rows, store.usage(query));
  core::UsageSums sums;
  for (const store::UsageRow& row : rows)
    sums[{row.day, {row.project, row.user}}] += {.accelerators = row.accelerators,
                                                 .cpus = row.cpus,
                                                 .memory = row.memory,
                                                 .jobs = row.jobs,
                                                 .failed = row.failed,
                                                 .until = row.until};
  for (const auto& [key, usage] : meters.running(now)) {
    bool wanted = key.day >= query.since && key.day <= query.until &&
                  (!query.project || *query.project == key.account.project);
    if (wanted) sums[key] += usage;
  }
  return sums;
}

}  // namespace tessera::server
