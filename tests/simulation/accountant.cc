#include "accountant.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::simulation {

namespace {

constexpr int64_t kDayMs = 24LL * 3'600'000;

int64_t thousandths(const api::Job& job, const api::Task& task) {
  std::optional<MilliGpu> asked = job.spec.resources.gpus;
  int64_t sum = 0;
  for (const api::Allocation& share : task.allocations) {
    if (share.exclusive)
      sum += 1000;
    else
      sum += asked && asked->value % 1000 != 0 ? asked->value : share.compute.value * 10;
  }
  return sum;
}

std::string words(const core::UsageKey& key, const core::Usage& usage) {
  return cat(core::format_day(key.day), " ", key.account.project, "/", key.account.user, ": ",
             usage.accelerators, ", ", usage.cpus, ", ", usage.memory, ", ", usage.jobs, " jobs, ",
             usage.failed, " failed");
}

}  // namespace

void Accountant::look(const core::State& state, Instant at) {
  std::set<Attempt> held;
  for (const auto& [id, task] : state.tasks) {
    if (!api::holds_devices(task.phase)) continue;
    const api::Job& job = state.jobs.at(core::object_key(task.project, task.job));
    held.emplace(id, task.attempt);
    running_.try_emplace({id, task.attempt},
                         Stretch{.account = core::account_of(job),
                                 .held = {.accelerators = {thousandths(job, task)},
                                          .cpus = task.cpus,
                                          .memory = task.memory},
                                 .since = at});
  }
  std::erase_if(running_, [&](const auto& entry) {
    if (held.contains(entry.first)) return false;
    add(entry.second, at, sums_);
    return true;
  });
  look_at_jobs(state, at);
}

// Those that end and go in one tick are never seen here.
void Accountant::look_at_jobs(const core::State& state, Instant at) {
  for (const auto& [key, job] : state.jobs) {
    if (!api::is_terminal(job.status.phase) || !over_.insert(job.metadata.uid).second) continue;
    core::Usage& row = sums_[{core::day_of(at), core::account_of(job)}];
    ++row.jobs;
    if (job.status.phase == api::Phase::kFailed) ++row.failed;
  }
}

void Accountant::add(const Stretch& stretch, Instant until, core::UsageSums& sums) {
  for (int64_t day = stretch.since.ms / kDayMs; day <= until.ms / kDayMs; ++day) {
    int64_t begin = std::max(stretch.since.ms, day * kDayMs);
    int64_t ms = std::min(until.ms, (day + 1) * kDayMs) - begin;
    core::Usage& row = sums[{day, stretch.account}];
    row.accelerators += stretch.held.accelerators.value * ms;
    row.cpus += stretch.held.cpus.value * ms;
    row.memory += stretch.held.memory.value * ms;
  }
}

std::vector<std::string> Accountant::compare(const core::UsageSums& ledger, Instant now) const {
  core::UsageSums mine = sums_;
  for (const auto& [attempt, stretch] : running_) add(stretch, now, mine);
  for (const auto& [key, usage] : ledger) mine[key];
  std::vector<std::string> notes;
  for (const auto& [key, counted] : mine) {
    auto found = ledger.find(key);
    core::Usage told = found == ledger.end() ? core::Usage() : found->second;
    bool same = told.accelerators == counted.accelerators && told.cpus == counted.cpus &&
                told.memory == counted.memory && told.jobs >= counted.jobs &&
                told.failed >= counted.failed && told.failed <= told.jobs;
    if (!same)
      notes.push_back(
          cat("the ledger says ", words(key, told), "; counted were ", words(key, counted)));
  }
  return notes;
}

}  // namespace tessera::simulation
