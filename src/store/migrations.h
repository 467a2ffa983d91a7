#pragma once
// The schema and how older files are brought to it. Internal to store.

#include <span>
#include <string>

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

// Before a file of an older schema is migrated: copies it whole to "PATH.schema-N", its schema's
// number, so that one can go back to the program before. Nothing when there is nothing to migrate.
Status back_up(Database& database, const std::string& path, std::span<const Migration> steps);

// Makes the file when it is not there, for its owner alone: there are secrets in it. SQLite gives
// the files that it makes beside it the same mode.
Status make_private_file(const std::string& path);

}  // namespace tessera::store
