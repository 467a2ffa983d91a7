#pragma once
// The schema and how older files are brought to it. Internal to store.

#include <span>

#include "store/sqlite.h"

namespace tessera::store {

// What leads from the version before to `version`. Rows here are never changed once released: a new
// schema is a new row.
struct Migration {
  int64_t version;
  const char* sql;
};

std::span<const Migration> migrations();

// Runs what is missing, each step in a transaction of its own. A file with a newer schema, or one
// that is not ours, is refused with kConflict and left as it is.
Status migrate(Database& database, std::span<const Migration> steps);

}  // namespace tessera::store
