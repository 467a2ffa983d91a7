#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "store/file_lock.h"
#include "store/migrations.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace tessera::store {

namespace {

// Every statement that runs more than once; prepared at open, from the table below.
struct Statements {
  Statement begin, commit;
  Statement put_document, erase_document, load_documents;
  Statement put_outbox, finish_outbox, load_outbox;
  Statement add_event, drop_events, all_events, events_of_project, events_about;
  Statement add_idempotency, drop_old_idempotency, drop_idempotency, find_idempotency;
  Statement add_audit, drop_audit, find_audit;
  Statement add_usage, load_usage, find_usage;
  Statement set_counter, load_counters;
};

constexpr struct {
  Statement Statements::* slot;
  std::string_view sql;
} kSql[] = {
    {&Statements::begin, "BEGIN IMMEDIATE"},
    {&Statements::commit, "COMMIT"},
    {&Statements::put_document,
     "INSERT INTO documents (kind, key, version, body) VALUES (?1, ?2, ?3, ?4) "
     "ON CONFLICT (kind, key) DO UPDATE SET version = excluded.version, body = excluded.body "
     "WHERE excluded.version >= documents.version"},
    {&Statements::erase_document, "DELETE FROM documents WHERE kind = ?1 AND key = ?2"},
    {&Statements::load_documents,
     "SELECT kind, key, version, body FROM documents ORDER BY kind, key"},
    {&Statements::put_outbox, "INSERT INTO outbox (id, body) VALUES (?1, ?2)"},
    {&Statements::finish_outbox, "DELETE FROM outbox WHERE id = ?1"},
    {&Statements::load_outbox, "SELECT id, body FROM outbox ORDER BY id"},
    {&Statements::add_event,
     "INSERT INTO events (seq, project, about, body) VALUES (?1, ?2, ?3, ?4)"},
    {&Statements::drop_events,
     "DELETE FROM events WHERE seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?1)"},
    // Three, so that each walks the index that fits and stops at its limit.
    {&Statements::all_events,
     "SELECT seq, project, body, about FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2"},
    {&Statements::events_of_project,
     "SELECT seq, project, body, about FROM events WHERE seq > ?1 AND project = ?3 "
     "ORDER BY seq LIMIT ?2"},
    {&Statements::events_about,
     "SELECT seq, project, body, about FROM events WHERE seq > ?1 AND about = ?4 "
     "AND (?3 IS NULL OR project = ?3) ORDER BY seq LIMIT ?2"},
    {&Statements::add_idempotency,
     "INSERT INTO idempotency (key, fingerprint, kind, object_key, at_ms) "
     "VALUES (?1, ?2, ?3, ?4, ?5)"},
    {&Statements::drop_old_idempotency, "DELETE FROM idempotency WHERE at_ms < ?1"},
    {&Statements::drop_idempotency,
     "DELETE FROM idempotency WHERE key IN "
     "(SELECT key FROM idempotency ORDER BY at_ms, key LIMIT ?1)"},
    {&Statements::find_idempotency,
     "SELECT key, fingerprint, kind, object_key, at_ms FROM idempotency WHERE key = ?1"},
    {&Statements::add_audit,
     "INSERT INTO audit (routine, seq, at_ms, user, origin, action, object, result, message) "
     "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
    {&Statements::drop_audit,
     "DELETE FROM audit WHERE routine = ?1 AND seq IN "
     "(SELECT seq FROM audit WHERE routine = ?1 ORDER BY seq LIMIT ?2)"},
    // Each half walks its part of the table from its end and stops at the limit.
    {&Statements::find_audit,
     "SELECT * FROM (SELECT * FROM audit WHERE routine = 0 AND seq < ?1 AND (?3 IS NULL OR user = "
     "?3) AND (?4 = 0 OR result <> 'ok') ORDER BY seq DESC LIMIT ?2) UNION ALL "
     "SELECT * FROM (SELECT * FROM audit WHERE routine = 1 AND seq < ?1 AND (?3 IS NULL OR user = "
     "?3) AND (?4 = 0 OR result <> 'ok') ORDER BY seq DESC LIMIT ?2) ORDER BY seq DESC LIMIT ?2"},
    {&Statements::add_usage,
     "INSERT INTO usage (day, project, user, accelerators, cpus, memory, jobs, failed, until_ms) "
     "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (day, project, user) DO UPDATE SET "
     "accelerators = accelerators + excluded.accelerators, cpus = cpus + excluded.cpus, "
     "memory = memory + excluded.memory, jobs = jobs + excluded.jobs, "
     "failed = failed + excluded.failed, until_ms = max(until_ms, excluded.until_ms)"},
    {&Statements::load_usage,
     "SELECT project, user, max(until_ms) FROM usage GROUP BY project, user "
     "ORDER BY project, user"},
    {&Statements::find_usage,
     "SELECT day, project, user, accelerators, cpus, memory, jobs, failed, until_ms FROM usage "
     "WHERE day BETWEEN ?1 AND ?2 AND (?3 IS NULL OR project = ?3) ORDER BY day, project, user"},
    {&Statements::set_counter,
     "INSERT INTO counters (name, value) VALUES (?1, ?2) "
     "ON CONFLICT (name) DO UPDATE SET value = excluded.value"},
    {&Statements::load_counters, "SELECT name, value FROM counters ORDER BY name"},
};

bool is_empty(const Batch& batch) {
  return batch.put.empty() && batch.erase.empty() && batch.outbox_put.empty() &&
         batch.outbox_done.empty() && batch.events.empty() && batch.idempotency.empty() &&
         batch.audit.empty() && batch.usage.empty() && batch.counters.empty();
}

Status check_put_or_erased(const Batch& batch) {
  if (batch.put.empty() || batch.erase.empty()) return Ok;
  std::set<std::pair<std::string, std::string>> erased(batch.erase.begin(), batch.erase.end());
  for (const Document& document : batch.put)
    if (erased.contains({document.kind, document.key}))
      return error(Code::kConflict, cat(document.kind, " ", document.key,
                                        " is both written and erased in one commit"));
  return Ok;
}

class SqliteStore : public Store {
 public:
  SqliteStore(Fd lock, Database database)
      : lock_(std::move(lock)), database_(std::move(database)) {}

  Status prepare() {
    for (const auto& row : kSql) {
      TRY(statements_.*row.slot, database_.prepare(row.sql));
    }
    TRY(counts_.events, database_.integer("SELECT count(*) FROM events"));
    TRY(counts_.idempotency, database_.integer("SELECT count(*) FROM idempotency"));
    TRY(counts_.audit[0], database_.integer("SELECT count(*) FROM audit WHERE routine = 0"));
    TRY(counts_.audit[1], database_.integer("SELECT count(*) FROM audit WHERE routine = 1"));
    return Ok;
  }

  Status commit(const Batch& batch) override {
    if (is_empty(batch)) return Ok;
    TRY_STATUS(check_put_or_erased(batch));
    Counts counts = counts_;
    Status status = write(batch, counts);
    if (status.ok())
      counts_ = counts;
    else
      database_.rollback();
    return status;
  }

  Result<Loaded> load() override;
  Result<std::optional<IdempotencyRow>> find_idempotency(const std::string& key) override;
  Result<std::vector<EventRow>> events(const EventQuery& query) override;
  Result<std::vector<AuditRow>> audit(const AuditQuery& query) override;
  Result<std::vector<UsageRow>> usage(const UsageQuery& query) override;
  Status scrub() override;

 private:
  // How many rows of the tables that are pruned, so that no commit has to count them.
  struct Counts {
    int64_t events = 0;
    int64_t idempotency = 0;
    std::array<int64_t, 2> audit = {};  // others, routine
  };

  Query query(const Statement& statement) { return Query(database_, statement); }
  Status write(const Batch& batch, Counts& counts);
  Status write_documents(const Batch& batch);
  Status write_outbox(const Batch& batch);
  Status write_events(const Batch& batch, int64_t& count);
  Status write_idempotency(const Batch& batch, int64_t& count);
  Status write_audit(const Batch& batch, std::array<int64_t, 2>& counts);
  Status write_usage(const Batch& batch);
  Status write_counters(const Batch& batch);

  Fd lock_;  // released last
  Database database_;
  Statements statements_;
  Counts counts_;
};

Status SqliteStore::write(const Batch& batch, Counts& counts) {
  database_.rollback();  // what a failed rollback of an earlier commit may have left
  TRY_STATUS(query(statements_.begin).finish("begin"));
  TRY_STATUS(write_documents(batch));
  TRY_STATUS(write_outbox(batch));
  TRY_STATUS(write_events(batch, counts.events));
  TRY_STATUS(write_idempotency(batch, counts.idempotency));
  TRY_STATUS(write_audit(batch, counts.audit));
  TRY_STATUS(write_usage(batch));
  TRY_STATUS(write_counters(batch));
  return query(statements_.commit).finish("commit");
}

Status SqliteStore::write_documents(const Batch& batch) {
  for (const Document& row : batch.put) {
    TRY_STATUS(query(statements_.put_document)
                   .bind(row.kind, row.key, row.version, row.body)
                   .finish("write a document"));
    if (database_.changed_rows() == 0)
      return error(Code::kConflict, cat("version ", row.version, " of ", row.kind, " ", row.key,
                                        " is older than the stored one"));
  }
  for (const auto& [kind, key] : batch.erase)
    TRY_STATUS(query(statements_.erase_document).bind(kind, key).finish("erase a document"));
  return Ok;
}

Status SqliteStore::write_outbox(const Batch& batch) {
  for (const OutboxRow& row : batch.outbox_put)
    TRY_STATUS(query(statements_.put_outbox).bind(row.id, row.body).finish("add to the outbox"));
  for (int64_t id : batch.outbox_done)
    TRY_STATUS(query(statements_.finish_outbox).bind(id).finish("clear the outbox"));
  return Ok;
}

Status SqliteStore::write_events(const Batch& batch, int64_t& count) {
  for (const EventRow& row : batch.events)
    TRY_STATUS(query(statements_.add_event)
                   .bind(row.seq, row.project, row.about, row.body)
                   .finish("add an event"));
  count += static_cast<int64_t>(batch.events.size());
  if (count <= kEventLimit) return Ok;
  TRY_STATUS(query(statements_.drop_events).bind(count - kEventLimit).finish("drop old events"));
  count = kEventLimit;
  return Ok;
}

Status SqliteStore::write_idempotency(const Batch& batch, int64_t& count) {
  if (batch.idempotency.empty()) return Ok;
  Instant newest;
  for (const IdempotencyRow& row : batch.idempotency) newest = std::max(newest, row.at);
  // First the old ones, so that a key may be used again once its day is over.
  TRY_STATUS(query(statements_.drop_old_idempotency)
                 .bind((newest + kIdempotencyAge * -1).ms)
                 .finish("drop old idempotency keys"));
  count -= database_.changed_rows();
  for (const IdempotencyRow& row : batch.idempotency)
    TRY_STATUS(query(statements_.add_idempotency)
                   .bind(row.key, row.fingerprint, row.kind, row.object_key, row.at.ms)
                   .finish("add an idempotency key"));
  count += static_cast<int64_t>(batch.idempotency.size());
  if (count <= kIdempotencyLimit) return Ok;
  TRY_STATUS(query(statements_.drop_idempotency)
                 .bind(count - kIdempotencyLimit)
                 .finish("drop old idempotency keys"));
  count = kIdempotencyLimit;
  return Ok;
}

Status SqliteStore::write_audit(const Batch& batch, std::array<int64_t, 2>& counts) {
  for (const AuditRow& row : batch.audit) {
    TRY_STATUS(query(statements_.add_audit)
                   .bind(int64_t{row.routine}, row.seq, row.at.ms, row.user, row.from, row.action,
                         row.object, row.result, row.message)
                   .finish("add to the audit log"));
    ++counts[row.routine];
  }
  for (int64_t routine : {0, 1}) {
    int64_t& count = counts[static_cast<size_t>(routine)];
    if (count <= kAuditLimit) continue;
    TRY_STATUS(query(statements_.drop_audit)
                   .bind(routine, count - kAuditLimit)
                   .finish("drop old rows of the audit log"));
    count = kAuditLimit;
  }
  return Ok;
}

Status SqliteStore::write_usage(const Batch& batch) {
  for (const UsageRow& row : batch.usage)
    TRY_STATUS(query(statements_.add_usage)
                   .bind(row.day, row.project, row.user, row.accelerators, row.cpus, row.memory,
                         row.jobs, row.failed, row.until.ms)
                   .finish("add to the usage"));
  return Ok;
}

Status SqliteStore::write_counters(const Batch& batch) {
  for (const auto& [name, value] : batch.counters)
    TRY_STATUS(query(statements_.set_counter).bind(name, value).finish("set a counter"));
  return Ok;
}

Result<Loaded> SqliteStore::load() {
  Loaded out;
  Query documents(database_, statements_.load_documents);
  while (true) {
    TRY(bool found, documents.next("load documents"));
    if (!found) break;
    out.documents.push_back(
        {documents.text(0), documents.text(1), documents.integer(2), documents.text(3)});
  }
  Query outbox(database_, statements_.load_outbox);
  while (true) {
    TRY(bool found, outbox.next("load the outbox"));
    if (!found) break;
    out.outbox.push_back({outbox.integer(0), outbox.text(1)});
  }
  Query usage(database_, statements_.load_usage);
  while (true) {
    TRY(bool found, usage.next("load the usage"));
    if (!found) break;
    out.usage.push_back({usage.text(0), usage.text(1), {usage.integer(2)}});
  }
  Query counters(database_, statements_.load_counters);
  while (true) {
    TRY(bool found, counters.next("load counters"));
    if (!found) break;
    out.counters[counters.text(0)] = counters.integer(1);
  }
  return out;
}

Result<std::optional<IdempotencyRow>> SqliteStore::find_idempotency(const std::string& key) {
  Query rows(database_, statements_.find_idempotency);
  TRY(bool found, rows.bind(key).next("find an idempotency key"));
  if (!found) return std::optional<IdempotencyRow>();
  return std::optional(IdempotencyRow{.key = rows.text(0),
                                      .fingerprint = rows.text(1),
                                      .kind = rows.text(2),
                                      .object_key = rows.text(3),
                                      .at = {rows.integer(4)}});
}

Result<std::vector<EventRow>> SqliteStore::events(const EventQuery& wanted) {
  const Statement& statement = wanted.about     ? statements_.events_about
                               : wanted.project ? statements_.events_of_project
                                                : statements_.all_events;
  Query rows(database_, statement);
  rows.bind(wanted.after, wanted.limit);
  if (wanted.about || wanted.project) rows.bind(wanted.project);
  if (wanted.about) rows.bind(wanted.about);
  std::vector<EventRow> out;
  while (true) {
    TRY(bool found, rows.next("list events"));
    if (!found) return out;
    out.push_back({rows.integer(0), rows.text(1), rows.text(2), rows.text(3)});
  }
}

Result<std::vector<AuditRow>> SqliteStore::audit(const AuditQuery& wanted) {
  Query rows(database_, statements_.find_audit);
  rows.bind(wanted.before, wanted.limit, wanted.user, int64_t{wanted.refused});
  std::vector<AuditRow> out;
  while (true) {
    TRY(bool found, rows.next("read the audit log"));
    if (!found) return out;
    out.push_back({.seq = rows.integer(1),
                   .routine = rows.integer(0) != 0,
                   .at = {rows.integer(2)},
                   .user = rows.text(3),
                   .from = rows.text(4),
                   .action = rows.text(5),
                   .object = rows.text(6),
                   .result = rows.text(7),
                   .message = rows.text(8)});
  }
}

Result<std::vector<UsageRow>> SqliteStore::usage(const UsageQuery& wanted) {
  Query rows(database_, statements_.find_usage);
  rows.bind(wanted.since, wanted.until, wanted.project);
  std::vector<UsageRow> out;
  while (true) {
    TRY(bool found, rows.next("read the usage"));
    if (!found) return out;
    out.push_back({.day = rows.integer(0),
                   .project = rows.text(1),
                   .user = rows.text(2),
                   .accelerators = rows.integer(3),
                   .cpus = rows.integer(4),
                   .memory = rows.integer(5),
                   .jobs = rows.integer(6),
                   .failed = rows.integer(7),
                   .until = {rows.integer(8)}});
  }
}

Status SqliteStore::scrub() {
  TRY_STATUS(database_.run("VACUUM"));
  return database_.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

Result<std::unique_ptr<Store>> finish_opening(Fd lock, Database database) {
  TRY_STATUS(migrate(database, migrations()));
  auto store = std::make_unique<SqliteStore>(std::move(lock), std::move(database));
  TRY_STATUS(store->prepare());
  return std::unique_ptr<Store>(std::move(store));
}

// In exclusive mode the index of the log is in our memory: no shared file that a full disk could
// take away under us, and no other program reads or writes between two of our commits.
Status configure_file(Database& database) {
  TRY_STATUS(database.run("PRAGMA locking_mode=EXCLUSIVE"));
  TRY(std::string mode, database.text("PRAGMA journal_mode=WAL"));
  if (mode != "wal")
    return error(Code::kUnavailable, cat("store ", database.label(), " cannot keep a log here"), {},
                 "use a data folder on a local file system");
  TRY_STATUS(database.run("PRAGMA synchronous=FULL"));
  TRY(std::string damage, database.text("PRAGMA quick_check(1)"));
  if (damage == "ok") return Ok;
  return error(Code::kInternal, cat("store ", database.label(), " is damaged (", damage, ")"), {},
               "restore a backup of it; the file is left as it is");
}

}  // namespace

Result<std::unique_ptr<Store>> open_file(const std::string& path) {
  TRY(Fd lock, lock_beside(path));
  TRY_STATUS(make_private_file(path));
  TRY(Database database, Database::open(path, path));
  TRY_STATUS(configure_file(database));
  TRY_STATUS(back_up(database, path, migrations()));
  return finish_opening(std::move(lock), std::move(database));
}

Result<std::unique_ptr<Store>> open_memory() {
  TRY(Database database, Database::open(":memory:", "in memory"));
  TRY_STATUS(database.run("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF"));
  return finish_opening(Fd(), std::move(database));
}

}  // namespace tessera::store
