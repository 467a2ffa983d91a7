#pragma once
// The ledger of usage between core and store.

#include "core/usage.h"
#include "store/store.h"

namespace tessera::server {

std::vector<store::UsageRow> to_rows(const core::UsageSums& sums);

// What the store knows, and what has run up since at `now`: as if all were given back then.
Result<core::UsageSums> read_usage(store::Store& store, const core::Meters& meters,
                                   const store::UsageQuery& query, Instant now);

}  // namespace tessera::server
