#pragma once
// The store port: what must survive the server. One batch is one transaction: all of it is durable
// when commit() returns Ok, and nothing of it is there when it does not.
//
// Owned by the brain and used on its thread alone; no method is safe to call from two threads at
// once. Bodies are JSON texts made by the caller; the store never looks into them.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tessera::store {

// An object: kind "Job", key "default/train".
struct Document {
  std::string kind;
  std::string key;
  int64_t version = 0;  // never goes down: a put of an older one fails the batch with kConflict
  std::string body;
  bool operator==(const Document&) const = default;
};

// An effect that was decided and is not yet known to be done. Executed at least once.
struct OutboxRow {
  int64_t id = 0;  // of the caller; used once
  std::string body;
  bool operator==(const OutboxRow&) const = default;
};

struct EventRow {
  int64_t seq = 0;  // of the caller; used once, later events have higher ones
  std::string project;
  std::string body;
  std::string about;  // uid of the object that it happened to; may be empty
  bool operator==(const EventRow&) const = default;
};

// The answer to a create with an Idempotency-Key: a second one with the same fingerprint gets the
// same object, with another it is an error.
struct IdempotencyRow {
  std::string key;  // of the caller, unique among users and projects too; used once while kept
  std::string fingerprint;
  std::string kind;
  std::string object_key;
  Instant at;
  bool operator==(const IdempotencyRow&) const = default;
};

// One attempt to change something, for the audit log.
struct AuditRow {
  int64_t seq = 0;  // of the caller; used once, later ones are higher
  bool routine =
      false;  // what users do all day (jobs), kept apart so that it does not push out the rest
  Instant at;
  std::string user;
  std::string from;
  std::string action;
  std::string object;
  std::string result;  // "ok", or the code of the refusal
  std::string message;
  bool operator==(const AuditRow&) const = default;
};

// What a project's user used on one day, added to what is known of it. Kept for ever.
struct UsageRow {
  int64_t day = 0;  // since 1970-01-01, UTC
  std::string project;
  std::string user;
  int64_t accelerators = 0, cpus = 0, memory = 0;  // in the caller's units
  int64_t jobs = 0, failed = 0;
  Instant until;  // counted until then; the latest one stays
  bool operator==(const UsageRow&) const = default;
};

// What changes. The same document both put and erased in one batch is a bug of the caller:
// kConflict. An outbox row may be put and done at once.
struct Batch {
  std::vector<Document> put;
  std::vector<std::pair<std::string, std::string>> erase;  // kind, key; no error when not there
  std::vector<OutboxRow> outbox_put;
  std::vector<int64_t> outbox_done;  // ids; no error when not there
  std::vector<EventRow> events;
  std::vector<IdempotencyRow> idempotency;
  std::vector<AuditRow> audit;
  std::vector<UsageRow> usage;
  std::map<std::string, int64_t> counters;  // sets them
};

// Until when the usage of a project's user is counted.
struct UsageMark {
  std::string project;
  std::string user;
  Instant until;
  bool operator==(const UsageMark&) const = default;
};

// All that the server starts from. Events, audit, usage and idempotency rows stay in the store and
// are asked for.
struct Loaded {
  std::vector<Document> documents;  // by kind, then key
  std::vector<OutboxRow> outbox;    // by id
  std::vector<UsageMark> usage;     // by project, then user
  std::map<std::string, int64_t> counters;
};

struct EventQuery {
  std::optional<std::string> project;  // only of this one
  std::optional<std::string> about;    // only about the object with this uid
  int64_t after = 0;                   // only events with a higher seq
  int64_t limit = 500;
};

struct AuditQuery {
  std::optional<std::string> user;  // only what this one did
  bool refused = false;             // only what was refused
  int64_t before = INT64_MAX;       // only rows with a lower seq
  int64_t limit = 100;
};

struct UsageQuery {
  int64_t since = INT64_MIN, until = INT64_MAX;  // days, both included
  std::optional<std::string> project;            // only of this one
};

// Rows of the audit log, routine ones and others each: months of what admins do, at least hours of
// the busiest users' jobs, some 20 MB. The oldest go first.
inline constexpr int64_t kAuditLimit = 100'000;
// Events are for people who look at what happened lately: 100,000 are days of a busy cluster and
// some 50 MB. The oldest go first, with the commits that add new ones.
inline constexpr int64_t kEventLimit = 100'000;
// A client that repeats a request does so within minutes; a day covers a night's outage of its own.
inline constexpr Millis kIdempotencyAge{24LL * 3600 * 1000};
// And no client may fill the disk with keys: at most so many, the oldest go first.
inline constexpr int64_t kIdempotencyLimit = 100'000;

class Store {
 public:
  virtual ~Store() = default;  // closes it

  // Errors: kConflict (a row breaks a rule above: a bug of the caller), kExhausted (disk full),
  // kPermissionDenied (read-only), kUnavailable (the disk failed), kInternal (file damaged). None
  // leaves a trace; the same batch may be tried again.
  virtual Status commit(const Batch& batch) = 0;
  virtual Result<Loaded> load() = 0;
  virtual Result<std::optional<IdempotencyRow>> find_idempotency(const std::string& key) = 0;
  virtual Result<std::vector<EventRow>> events(const EventQuery& query) = 0;  // by seq
  virtual Result<std::vector<AuditRow>> audit(const AuditQuery& query) = 0;   // latest first
  // By day, project, user.
  virtual Result<std::vector<UsageRow>> usage(const UsageQuery& query) = 0;
  // Makes sure that what was erased or overwritten is in no file any more. Copies everything: for
  // rare occasions.
  virtual Status scrub() = 0;
};

// The SQLite file `path`, made when missing (mode 0600), brought to the schema of this program, and
// locked: a second server on the same file is refused with kConflict. Durable against power loss.
Result<std::unique_ptr<Store>> open_file(const std::string& path);

// A store in memory, for tests and simulations: the same rules, but nothing outlives the object. A
// simulated server that crashes leaves it to the next one.
Result<std::unique_ptr<Store>> open_memory();

}  // namespace tessera::store
