#include "store/migrations.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.h"
#include "base/text.h"

namespace tessera::store {

namespace {

// SQLite keeps this number in the file's header, where file(1) and we recognise our own.
constexpr int64_t kApplicationId = 0x54455353;  // "TESS"

constexpr Migration kMigrations[] = {
    {1, R"sql(
CREATE TABLE documents (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, key)
);
CREATE TABLE outbox (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  about TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX events_by_project ON events (project, seq);
CREATE INDEX events_by_subject ON events (about, seq);
CREATE TABLE idempotency (
  key TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  kind TEXT NOT NULL,
  object_key TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (at_ms);
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
)sql"},
    {2, R"sql(
CREATE TABLE audit (
  routine INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  user TEXT NOT NULL,
  origin TEXT NOT NULL,
  action TEXT NOT NULL,
  object TEXT NOT NULL,
  result TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (routine, seq)
) WITHOUT ROWID;
)sql"},
    {3, R"sql(
CREATE TABLE usage (
  day INTEGER NOT NULL,
  project TEXT NOT NULL,
  user TEXT NOT NULL,
  accelerators INTEGER NOT NULL,
  cpus INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  jobs INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  PRIMARY KEY (day, project, user)
) WITHOUT ROWID;
)sql"},
};

Status check_ours(Database& database, int64_t version) {
  TRY(int64_t id, database.integer("PRAGMA application_id"));
  TRY(int64_t tables, database.integer("SELECT count(*) FROM sqlite_master"));
  bool fresh = version == 0 && tables == 0;
  if (fresh || id == kApplicationId) return Ok;
  return error(Code::kConflict,
               cat(database.label(), " is an SQLite file of another program, not a store"), {},
               "use another data folder");
}

Status apply(Database& database, const Migration& step) {
  TRY_STATUS(database.run("BEGIN IMMEDIATE"));
  // The pragmas are part of the transaction: the version tells what the tables are, always.
  Status status = database.run(cat(step.sql, ";PRAGMA user_version=", step.version,
                                   ";PRAGMA application_id=", kApplicationId, ";COMMIT"));
  if (!status.ok()) database.rollback();
  return std::move(status).in(cat("migration to schema version ", step.version));
}

}  // namespace

std::span<const Migration> migrations() {
  return kMigrations;
}

Status migrate(Database& database, std::span<const Migration> steps) {
  TRY(int64_t version, database.integer("PRAGMA user_version"));
  TRY_STATUS(check_ours(database, version));
  int64_t known = steps.back().version;
  if (version > known)
    return error(Code::kConflict,
                 cat("store ", database.label(), " has schema version ", version,
                     ", newer than this program, which knows versions up to ", known),
                 {}, "start the newer program again, or restore a backup from before its upgrade");
  for (const Migration& step : steps)
    if (step.version > version) TRY_STATUS(apply(database, step));
  return Ok;
}

Status back_up(Database& database, const std::string& path, std::span<const Migration> steps) {
  TRY(int64_t version, database.integer("PRAGMA user_version"));
  if (version == 0 || version >= steps.back().version) return Ok;
  std::string copy = cat(path, ".schema-", version), partial = copy + ".partial";
  ::unlink(partial.c_str());  // of a start that was cut off
  TRY_STATUS(make_private_file(partial));
  std::string quoted_path;
  for (char c : partial) quoted_path.append(c == '\'' ? 2 : 1, c);
  TRY_STATUS(database.run(cat("VACUUM INTO '", quoted_path, "'"))
                 .in(cat("backup before the migration from schema version ", version)));
  if (::rename(partial.c_str(), copy.c_str()) != 0) return errno_error(cat("rename ", partial));
  return Ok;
}

Status make_private_file(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return errno_error(cat("open store ", path));
  if (::fchmod(fd.get(), 0600) != 0) return errno_error(cat("chmod store ", path));
  return Ok;
}

}  // namespace tessera::store
