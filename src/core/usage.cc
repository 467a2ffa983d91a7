#include "core/usage.h"

#include <algorithm>

#include "api/envelope.h"
#include "base/text.h"
#include "core/sched/demand.h"

namespace tessera::core {

namespace {

constexpr int64_t kDayMs = 86'400'000;

Instant begin_of(int64_t day) {
  return {day * kDayMs};
}

// The account's stretch of time, day by day.
void add_stretch(const Account& account, const Holding& held, Instant from, Instant to,
                 UsageSums& sums) {
  for (Instant at = from; at < to;) {
    int64_t day = day_of(at);
    Instant end = std::min(begin_of(day + 1), to);
    int64_t ms = (end - at).value;
    sums[{day, account}] += {.accelerators = held.accelerators.value * ms,
                             .cpus = held.cpus.value * ms,
                             .memory = held.memory.value * ms,
                             .until = end};
    at = end;
  }
}

}  // namespace

Account account_of(const api::Job& job) {
  auto user = job.metadata.annotations.find(std::string(api::kUserAnnotation));
  return {job.metadata.project,
          user == job.metadata.annotations.end() ? std::string() : user->second};
}

Holding& Holding::operator+=(const Holding& other) {
  accelerators += other.accelerators;
  cpus += other.cpus;
  memory += other.memory;
  return *this;
}

Holding& Holding::operator-=(const Holding& other) {
  accelerators -= other.accelerators;
  cpus -= other.cpus;
  memory -= other.memory;
  return *this;
}

Holding holding_of(const api::Job& job, const api::Task& task) {
  Holding out{.accelerators = {}, .cpus = task.cpus, .memory = task.memory};
  std::optional<MilliGpu> fraction = sched::demand_of(job.spec.resources).fraction;
  for (const api::Allocation& share : task.allocations)
    out.accelerators += share.exclusive ? MilliGpu{1000}
                        : fraction      ? *fraction
                                        : MilliGpu{share.compute.value * 10};
  return out;
}

Usage& Usage::operator+=(const Usage& other) {
  accelerators += other.accelerators;
  cpus += other.cpus;
  memory += other.memory;
  jobs += other.jobs;
  failed += other.failed;
  until = std::max(until, other.until);
  return *this;
}

void Meters::hold(const Account& account, const Holding& more) {
  changes_[account].more += more;
}

void Meters::release(const Account& account, const Holding& less) {
  changes_[account].more -= less;
}

void Meters::job_ended(const Account& account, bool failed) {
  Change& change = changes_[account];
  ++change.jobs;
  if (failed) ++change.failed;
}

void Meters::settle(Instant now, UsageSums& sums) {
  for (const auto& [account, change] : changes_) {
    Meter& meter = meters_[account];
    // A clock that was set back adds nothing until it is where it was.
    Instant until = std::max(now, meter.since.value_or(now));
    if (meter.since) add_stretch(account, meter.held, *meter.since, until, sums);
    sums[{day_of(until), account}] +=
        {.jobs = change.jobs, .failed = change.failed, .until = until};
    meter.since = until;
    meter.held += change.more;
    if (meter.held == Holding{}) meters_.erase(account);
  }
  changes_.clear();
}

void Meters::restore(const Account& account, const Holding& held) {
  meters_[account].held += held;
}

void Meters::resume(const Account& account, Instant until) {
  auto known = meters_.find(account);
  if (known != meters_.end()) known->second.since = until;
}

void Meters::begin(Instant now, UsageSums& sums) {
  for (auto& [account, meter] : meters_) {
    if (meter.since) continue;
    meter.since = now;
    sums[{day_of(now), account}] += {.until = now};
  }
}

UsageSums Meters::running(Instant now) const {
  UsageSums sums;
  for (const auto& [account, meter] : meters_)
    if (meter.since) add_stretch(account, meter.held, *meter.since, now, sums);
  return sums;
}

std::map<Account, Holding> Meters::holdings() const {
  std::map<Account, Holding> out;
  for (const auto& [account, meter] : meters_) out.emplace(account, meter.held);
  return out;
}

int64_t day_of(Instant at) {
  return at.ms >= 0 ? at.ms / kDayMs : (at.ms - kDayMs + 1) / kDayMs;
}

std::string format_day(int64_t day) {
  return format_instant(begin_of(day)).substr(0, std::string_view("2026-01-31").size());
}

Result<int64_t> parse_day(std::string_view text) {
  auto begin = parse_instant(cat(text, "T00:00:00Z"));
  if (!begin.ok())
    return error(Code::kInvalid, cat(quoted(text), " is not a day"), {},
                 "write it like 2026-01-31");
  return day_of(*begin);
}

}  // namespace tessera::core
