#include "engine/local/health.h"

#include <vector>

#include "api/codec_impl.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "engine/local/sessions.h"
#include "wire/json.h"

TESSERA_CODEC(tessera::api::HealthCheck)

namespace tessera::local {

namespace {

// Docker's.
constexpr Millis kInterval{30'000}, kTimeout{30'000}, kStartInterval{5'000};
constexpr int64_t kRetries = 3;
// What is told of a check's output.
constexpr size_t kOutputLimit = 4096, kMessageLimit = 200;
// A start of a process takes some 50 ms of them; the process itself none.
constexpr int kWorkers = 2;

std::string path_in(const std::string& state_folder) {
  return state_folder + "/health.json";
}

Result<api::HealthCheck> read_check(const std::string& state_folder) {
  TRY(std::string text, read_file(path_in(state_folder)));
  TRY(Value tree, wire::parse_json(text));
  return schema::decode<api::HealthCheck>(tree);
}

std::string message_of(const std::string& output) {
  std::string_view line = trim(output);
  return std::string(line.substr(0, std::min(line.find('\n'), kMessageLimit)));
}

}  // namespace

std::optional<api::HealthCheck> effective_check(const std::optional<api::HealthCheck>& job,
                                                const std::optional<api::HealthCheck>& image) {
  api::HealthCheck out = image.value_or(api::HealthCheck{});
  if (job) {
    out.disabled = job->disabled || (out.disabled && job->command.empty());
    if (!job->command.empty()) out.command = job->command;
    if (job->interval) out.interval = job->interval;
    if (job->timeout) out.timeout = job->timeout;
    if (job->startPeriod) out.startPeriod = job->startPeriod;
    if (job->startInterval) out.startInterval = job->startInterval;
    if (job->retries) out.retries = job->retries;
  }
  if (out.disabled || out.command.empty()) return std::nullopt;
  return out;
}

void HealthState::take(const api::HealthCheck& check, bool well, Millis since_start) {
  if (well) {
    health = api::ContainerHealth::kHealthy;
    failures = 0;
    return;
  }
  bool starting = health == api::ContainerHealth::kStarting &&
                  since_start < check.startPeriod.value_or(Millis{0});
  if (starting) return;
  if (++failures >= check.retries.value_or(kRetries)) health = api::ContainerHealth::kUnhealthy;
}

Millis HealthState::wait(const api::HealthCheck& check, Millis since_start) const {
  bool starting = health == api::ContainerHealth::kStarting &&
                  since_start < check.startPeriod.value_or(Millis{0});
  Millis interval = check.interval.value_or(kInterval);
  return starting ? std::min(interval, check.startInterval.value_or(kStartInterval)) : interval;
}

// Of one container; what changes is guarded by the monitor's mutex.
struct HealthMonitor::Watch {
  TaskPtr task;
  api::HealthCheck check;
  int64_t since_ns = 0;
  HealthState state;
  int64_t probe = 0;  // number of the check that is under way, or was last
  bool over = false;  // nobody wants to know any more
  bool late = false;  // the check took too long
  std::string output;
  int64_t ended = 0;  // number of the last check that has ended
  std::shared_ptr<engine::Session> session;

  Millis age() const { return Millis{(monotonic_ns() - since_ns) / 1'000'000}; }
};

HealthMonitor::HealthMonitor(Machine& machine, Report report)
    : machine_(machine), report_(std::move(report)), workers_(kWorkers) {}

HealthMonitor::~HealthMonitor() {
  std::vector<std::shared_ptr<engine::Session>> sessions;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    for (auto& [container, watch] : watches_) {
      watch->over = true;
      sessions.push_back(std::move(watch->session));
    }
  }
  sessions.clear();  // outside of the lock: their last words want it
}

Status HealthMonitor::keep(const std::string& state_folder, const api::HealthCheck& check) {
  return append_file(path_in(state_folder), wire::to_json(schema::encode(check)), 0600);
}

void HealthMonitor::watch(const TaskPtr& task, bool adopted) {
  auto check = read_check(machine_.state_folder(task->container));
  if (!check.ok()) return;
  auto watch = std::make_shared<Watch>();
  watch->task = task;
  watch->check = *std::move(check);
  watch->since_ns = monotonic_ns();
  if (adopted) watch->check.startPeriod.reset();
  {
    std::lock_guard lock(mutex_);
    watches_[task->container] = watch;
  }
  if (!adopted) report_(task, api::ContainerHealth::kStarting, {});
  plan(watch);
}

void HealthMonitor::forget(const TaskPtr& task) {
  std::lock_guard lock(mutex_);
  auto found = watches_.find(task->container);
  if (found == watches_.end()) return;
  found->second->over = true;
  // Ended by a worker: this may be the thread that its last words come on.
  workers_.run([session = std::move(found->second->session)]() mutable { session.reset(); });
  watches_.erase(found);
}

void HealthMonitor::plan(const WatchPtr& watch) {
  workers_.run([this, watch] { begin(watch); }, watch->state.wait(watch->check, watch->age()));
}

void HealthMonitor::begin(const WatchPtr& watch) {
  int64_t probe = 0;
  {
    std::lock_guard lock(mutex_);
    if (watch->over) return;
    probe = ++watch->probe;
    watch->late = false;
    watch->output.clear();
  }
  engine::SessionEvents events{
      .on_output =
          [this, watch](int, std::string_view bytes) {
            std::lock_guard lock(mutex_);
            size_t room = kOutputLimit - std::min(kOutputLimit, watch->output.size());
            watch->output += bytes.substr(0, room);
          },
      .on_exit =
          [this, watch, probe](int exit_code) {
            workers_.run([this, watch, probe, exit_code] { end(watch, probe, exit_code); });
          }};
  auto session =
      start_exec(machine_, watch->task,
                 {.task = watch->task->ref.task, .argv = watch->check.command}, std::move(events));
  std::unique_lock lock(mutex_);
  if (!session.ok()) {
    watch->output = session.error().text();
    lock.unlock();
    return end(watch, probe, 126);
  }
  if (watch->over || closing_ || watch->ended == probe) {
    lock.unlock();
    return session->reset();
  }
  watch->session = *std::move(session);
  workers_.run([this, watch, probe] { time_out(watch, probe); },
               watch->check.timeout.value_or(kTimeout));
}

void HealthMonitor::time_out(const WatchPtr& watch, int64_t probe) {
  std::shared_ptr<engine::Session> session;
  {
    std::lock_guard lock(mutex_);
    if (watch->over || watch->probe != probe || !watch->session) return;
    watch->late = true;
    session = watch->session;
  }
  session->close();
}

void HealthMonitor::end(const WatchPtr& watch, int64_t probe, int exit_code) {
  std::shared_ptr<engine::Session> session;
  api::ContainerHealth before, after;
  std::string message;
  {
    std::lock_guard lock(mutex_);
    if (watch->over || watch->probe != probe) return;
    watch->ended = probe;
    session = std::move(watch->session);
    before = watch->state.health;
    watch->state.take(watch->check, exit_code == 0 && !watch->late, watch->age());
    after = watch->state.health;
    message = watch->late ? cat("it took longer than ",
                                format_duration(watch->check.timeout.value_or(kTimeout)))
                          : message_of(watch->output);
  }
  session.reset();
  if (after != before) report_(watch->task, after, std::move(message));
  plan(watch);
}

}  // namespace tessera::local
