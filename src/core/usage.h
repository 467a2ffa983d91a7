#pragma once
// Who used what: time × amount of all that tasks hold, from their placement until it is given back,
// by project, user and UTC day. Integers only, so that nothing is lost by rounding.
//
// The sums go to the store as additions, in the transaction of the change that ends a stretch of
// time; here is only what is held now. They are kept when jobs and projects are removed.

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "api/job.h"

namespace tessera::core {

// Who is charged for a job.
struct Account {
  std::string project;
  std::string user;  // empty: nobody knows
  auto operator<=>(const Account&) const = default;
};
Account account_of(const api::Job& job);

// What tasks hold at a moment.
struct Holding {
  MilliGpu accelerators;
  MilliCpu cpus;
  MiB memory;
  bool operator==(const Holding&) const = default;
  Holding& operator+=(const Holding& other);
  Holding& operator-=(const Holding& other);
};
// A slice counts as its fraction; one that was asked for by its size as its share of the compute.
Holding holding_of(const api::Job& job, const api::Task& task);

struct UsageKey {
  int64_t day = 0;  // since 1970-01-01, UTC
  Account account;
  auto operator<=>(const UsageKey&) const = default;
};
struct Usage {
  int64_t accelerators = 0;  // thousandths of one, times milliseconds
  int64_t cpus = 0;          // thousandths of a core, times milliseconds
  int64_t memory = 0;        // MiB times milliseconds
  int64_t jobs = 0;          // that ended on this day
  int64_t failed = 0;        // so many of them
  Instant until;             // the account is counted until then
  bool operator==(const Usage&) const = default;
  Usage& operator+=(const Usage& other);  // `until` is the later one
};
using UsageSums = std::map<UsageKey, Usage>;

// The meters of all accounts that hold something. Part of the state: what is held is derived from
// the tasks, since when it is not yet counted comes from the store.
class Meters {
 public:
  // What happens in a step. It counts from the time that settle() names.
  void hold(const Account& account, const Holding& more);
  void release(const Account& account, const Holding& less);
  void job_ended(const Account& account, bool failed);
  // Adds what has run up on the accounts of which something changed, and how their jobs ended.
  void settle(Instant now, UsageSums& sums);

  // After a load, in this order: what is held, until when it is counted, and from when on where the
  // store does not say so.
  void restore(const Account& account, const Holding& held);
  void resume(const Account& account, Instant until);
  void begin(Instant now, UsageSums& sums);

  // What has run up on all accounts and is not settled yet.
  UsageSums running(Instant now) const;
  std::map<Account, Holding> holdings() const;
  bool operator==(const Meters&) const = default;

 private:
  struct Meter {
    Holding held;
    std::optional<Instant> since;  // counted until then
    bool operator==(const Meter&) const = default;
  };
  struct Change {
    Holding more;
    int64_t jobs = 0, failed = 0;
    bool operator==(const Change&) const = default;
  };
  std::map<Account, Meter> meters_;
  std::map<Account, Change> changes_;  // of this step
};

int64_t day_of(Instant at);
std::string format_day(int64_t day);               // "2026-01-31"
Result<int64_t> parse_day(std::string_view text);  // the same back

}  // namespace tessera::core
