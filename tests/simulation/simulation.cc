#include "simulation.h"

#include <algorithm>

#include "base/text.h"
#include "core/invariants.h"
#include "final_checks.h"

namespace tessera::simulation {

namespace {

// How long a request may wait for the server: not so long that its key is forgotten meanwhile.
constexpr Millis kLongestLag{120'000};

engine::SimOptions machine(uint64_t seed) {
  engine::SimOptions out;
  out.seed = seed;
  out.cpus = MilliCpu{32'000};
  out.memory = MiB{64 * 1024};
  return out;
}

engine::SimFaults random_faults(Rng& rng, bool may_lose) {
  using enum engine::SimFault;
  engine::SimFaults faults;
  for (engine::SimFault fault :
       {kStartFails, kStartSlow, kExitDelayed, kExitDuplicated, kCallFails, kAnswerLost})
    if (rng.chance(50)) faults.percent[fault] = static_cast<int>(rng.below(25));
  if (may_lose) faults.percent[kLost] = static_cast<int>(rng.below(25));
  return faults;
}

uint64_t add_to_digest(uint64_t digest, std::string_view text) {
  for (char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return digest * 31 + text.size();
}

}  // namespace

Simulation::Server::Server(Simulation& simulation)
    : store(*simulation.disk_, simulation.disk_trouble_),
      control(store, server::SecretBox::of_this_run(), {}),
      engine(simulation.world_),
      observer(
          engine, providers,
          [&simulation, this] {
            auto known = server::started_containers(view);
            simulation.meanwhile();
            return known;
          },
          [&simulation](core::Command command) { simulation.receive(std::move(command)); }),
      effects(
          engine,
          [this](const api::Accelerator& accelerator) { return observer.prepare(accelerator); },
          [&simulation](core::Command command) { simulation.receive(std::move(command)); },
          simulation.options_.bug != Bug::kReorderEffects) {
  providers.push_back(std::make_unique<DeviceProvider>(simulation.devices_));
}

Simulation::Simulation(const Options& options)
    : options_(options),
      report_{.options = options},
      rng_(options.seed),
      may_lose_(rng_.chance(50)),
      world_(machine(options.seed)),
      users_(rng_.fork(1), ledger_, options.bug) {
  engine::SimFaults faults = random_faults(rng_, may_lose_);
  if (options.bug == Bug::kOldExitAsNew) faults.percent[engine::SimFault::kExitDuplicated] = 50;
  world_.set_faults(faults);
}

Report Simulation::run() {
  boot();
  int steps = options_.steps > 0 ? options_.steps : steps_of_seed(options_.seed);
  for (int i = 0; i < steps && !failed(); ++i) step();
  if (!failed()) settle();
  report_.jobs = static_cast<int64_t>(ledger_.submissions().size());
  report_.starts = static_cast<int64_t>(world_.starts().size());
  return report_;
}

void Simulation::fail(std::vector<std::string> violations) {
  for (std::string& violation : violations) report_.violations.push_back(std::move(violation));
}

void Simulation::check() {
  fail(core::check_invariants(server_->control.state()));
  fail(check_told(server_->control.state(), history_));
  fail(check_wishes(server_->control.state(), ledger_));
  fail(world_.violations());
  if (!server_->committing) ledger_.check(server_->control.state(), world_.now());
  fail(ledger_.violations());
}

// --- Steps -------------------------------------------------------------------------------------

void Simulation::step() {
  static constexpr struct {
    uint64_t weight;
    void (Simulation::*action)();
  } kSteps[] = {{32, &Simulation::tick},          {28, &Simulation::carry_out},
                {16, &Simulation::act},           {14, &Simulation::pass_time},
                {4, &Simulation::observe},        {4, &Simulation::trouble},
                {3, &Simulation::check_health},   {2, &Simulation::trouble_disk},
                {2, &Simulation::crash_somewhere}};
  uint64_t sum = 0;
  for (const auto& row : kSteps) sum += row.weight;
  uint64_t drawn = rng_.below(sum);
  for (const auto& row : kSteps) {
    if (drawn < row.weight) return (this->*row.action)();
    drawn -= row.weight;
  }
}

void Simulation::act() {
  forget_wishes();
  for (Request& request : users_.act(server_->control.state(), world_.now())) {
    note(request.words);
    server_->inbox.push_back(std::move(request));
  }
}

void Simulation::carry_out() {
  for (uint64_t i = 0, n = 1 + rng_.below(4); i < n; ++i)
    if (auto words = server_->effects.run_one(rng_, world_.now())) note(*words);
}

void Simulation::pass_time() {
  auto next = next_moment();
  Instant until = world_.now();
  switch (rng_.below(6)) {
    case 0:
    case 1:
      until = until + Millis{static_cast<int64_t>(rng_.below(500))};
      break;
    case 2:
      until = until + Millis{static_cast<int64_t>(rng_.below(120'000))};
      break;
    case 3:
      until = until + Millis{static_cast<int64_t>(rng_.below(7'200'000))};
      break;
    default:
      until = std::max(until, next.value_or(until));
  }
  bool busy = server_->committing || !server_->inbox.empty();
  if (busy) until = std::min(until, world_.now() + kLongestLag);
  world_.run_until(until);
}

void Simulation::observe() {
  Status status = server_->observer.look();
  if (status.ok()) status = server_->observer.reconcile();
  note(cat("the observer looks: ", status.ok() ? "ok" : status.error().text()));
}

// Of any attempt that was ever started: what is said of one may come late.
void Simulation::check_health() {
  using enum api::ContainerHealth;
  static constexpr api::ContainerHealth kHealths[] = {kStarting, kHealthy, kUnhealthy};
  auto starts = world_.starts();
  if (starts.empty()) return;
  auto picked = std::next(starts.begin(), static_cast<int64_t>(rng_.below(starts.size())));
  hear({.ref = picked->first,
        .what = engine::Observation::What::kHealth,
        .health = kHealths[rng_.below(std::size(kHealths))]});
}

void Simulation::meanwhile() {
  for (uint64_t i = 0, n = rng_.below(3); i < n; ++i) {
    static constexpr void (Simulation::* kOthers[])() = {&Simulation::tick, &Simulation::carry_out,
                                                         &Simulation::pass_time};
    (this->*kOthers[rng_.below(std::size(kOthers))])();
  }
}

void Simulation::trouble() {
  switch (rng_.below(4)) {
    case 0:
    case 1:
      return note(devices_.trouble(rng_));
    case 2: {
      bool ready = rng_.chance(75);
      world_.set_ready(ready, ready ? "" : "simulated fault: the runtime does not answer");
      return note(ready ? "the node is ready" : "the node is not ready");
    }
    default: {
      if (options_.bug == Bug::kReleaseTwice) return release_a_device();
      auto live = world_.live();
      if (!may_lose_ || live.empty()) return;
      auto victim = std::next(live.begin(), static_cast<int64_t>(rng_.below(live.size())));
      note(cat("the container of ", victim->task, "#", victim->attempt, " vanishes"));
      return world_.lose(victim->task);
    }
  }
}

void Simulation::trouble_disk() {
  if (options_.bug == Bug::kPretendCommit) {
    disk_trouble_.pretended_commits = 1;
    return note("the disk will forget a commit");
  }
  disk_trouble_.failing_commits = static_cast<int>(1 + rng_.below(4));
  note("the disk is full for a while");
}

void Simulation::crash_somewhere() {
  switch (rng_.below(3)) {
    case 0:
      return tick_and(Then::kCrashBeforeCommit);
    case 1:
      return tick_and(Then::kCrashAfterCommit);
    default:
      note("the server crashes");
      return crash();
  }
}

// --- One tick ----------------------------------------------------------------------------------

void Simulation::tick_and(Then then) {
  Server& server = *server_;
  if (then == Then::kCrashBeforeCommit) disk_trouble_.failing_commits = 1;
  if (options_.bug == Bug::kLoseUsage && rng_.chance(20)) disk_trouble_.forgetful_commits = 1;
  if (!server.committing) {
    server.ticked = world_.now();
    size_t most = rng_.chance(70) ? server.inbox.size() : rng_.below(server.inbox.size() + 1);
    server.uncommitted.clear();
    for (; most > 0; --most) {
      server.uncommitted.push_back(std::move(server.inbox.front()));
      server.inbox.pop_front();
    }
  }
  std::vector<server::Inbound> commands;
  for (const Request& request : server.uncommitted) commands.push_back(request.inbound);
  Result<server::TickResult> result =
      server.committing ? server.control.commit() : server.control.tick(commands, server.ticked);
  ++report_.ticks;
  server.committing = !result.ok();
  if (!result.ok()) {
    note(cat("tick of ", commands.size(), ": ", result.error().text()));
    act_before_commit();
    if (then != Then::kCrashBeforeCommit) return check();
    note("the server crashes before the commit");
    return crash();
  }
  accountant_.look(server.control.state(), server.ticked);
  if (then != Then::kCrashAfterCommit) return finish(std::move(*result));
  note("the server crashes after the commit");
  crash();
}

// Planted bugs: what should wait for the commit does not.
void Simulation::act_before_commit() {
  Server& server = *server_;
  if (options_.bug == Bug::kReplyBeforeCommit)
    for (const Request& request : server.uncommitted) {
      const auto* create = std::get_if<core::CreateJob>(&request.inbound.command);
      if (!create) continue;
      const api::Metadata& metadata = create->job.metadata;
      std::string key = core::object_key(metadata.project, metadata.name);
      auto job = server.control.state().jobs.find(key);
      if (job != server.control.state().jobs.end() && job->second.metadata.uid == metadata.uid)
        ledger_.answered(*request.submission, key);
    }
  if (options_.bug == Bug::kActBeforeCommit) {
    server.effects.add(server.control.pending_orders());
    carry_out();
    pass_time();
  }
}

void Simulation::finish(server::TickResult result) {
  Server& server = *server_;
  for (size_t i = 0; i < server.uncommitted.size(); ++i) {
    const Request& request = server.uncommitted[i];
    const Result<std::string>& reply = result.replies.at(i);
    if (request.submission) ledger_.answered(*request.submission, reply);
    if (!reply.ok()) note(cat("refused: ", request.words, ": ", reply.error().text()));
  }
  server.uncommitted.clear();
  publish(std::move(result.publication), false);
  server.effects.add(std::move(result.orders));
  check();
}

// A server that begins anew publishes all there is, so with the number that it had reached.
void Simulation::publish(server::View::Publication publication, bool anew) {
  bool news = !anew && (!publication.entries.empty() || !publication.gone.empty());
  if (publication.sequence < published_ || (news && publication.sequence == published_))
    fail({cat("readers saw sequence ", published_, " and now ", publication.sequence)});
  published_ = publication.sequence;
  for (const server::Entry& entry : publication.entries)
    report_.digest = add_to_digest(report_.digest, entry.json);
  for (const auto& [kind, key] : publication.gone)
    report_.digest = add_to_digest(report_.digest, cat(kind, " ", key));
  server_->view.publish(std::move(publication));
}

// --- The server's life -------------------------------------------------------------------------

void Simulation::receive(core::Command command) {
  if (options_.bug == Bug::kDropEffectDone && std::holds_alternative<core::EffectDone>(command) &&
      rng_.chance(5))
    return;
  server_->inbox.push_back(
      {.inbound = {std::move(command), {}}, .submission = {}, .words = "an observation"});
}

void Simulation::hear(const engine::Observation& seen) {
  history_.note(seen);
  std::string_view what[] = {"started", "exited", "failed to start", "is checked"};
  note(cat(seen.ref.task, "#", seen.ref.attempt, " ", what[static_cast<int>(seen.what)],
           seen.what == engine::Observation::What::kExited ? cat(" with ", seen.exit_code) : ""));
  engine::Observation told = seen;
  bool exited = seen.what == engine::Observation::What::kExited;
  if (exited && options_.bug == Bug::kDropExits && rng_.chance(5)) return;
  bool health = seen.what == engine::Observation::What::kHealth;
  if ((exited && options_.bug == Bug::kOldExitAsNew) ||
      (health && options_.bug == Bug::kHealthAsNew)) {
    auto task = server_->control.state().tasks.find(seen.ref.task);
    if (task != server_->control.state().tasks.end()) told.ref.attempt = task->second.attempt;
  }
  receive(server::to_command(told));
}

// Planted bug.
void Simulation::release_a_device() {
  auto& state = const_cast<core::State&>(server_->control.state());
  for (const std::string& id : std::set<std::string>(state.holding)) {
    state.tasks.at(id).allocations.clear();
    core::touch(state, state.tasks.at(id));
  }
}

// Planted bugs.
void Simulation::forget_wishes() {
  auto& state = const_cast<core::State&>(server_->control.state());
  for (auto& [key, job] : state.jobs) {
    const api::Job before = job;
    if (options_.bug == Bug::kForgetDependencies)
      for (api::DependencyStatus& entry : job.status.dependencies)
        entry.state = api::DependencyState::kFulfilled;
    if (options_.bug == Bug::kForgetParallel && job.spec.array) job.spec.array->parallel.reset();
    if (options_.bug == Bug::kForgetSingleton) job.spec.singleton.clear();
    if (options_.bug == Bug::kForgetRequeue) job.spec.requeue = false;
    if (options_.bug == Bug::kForgetRestarts) job.spec.restartPolicy = api::RestartPolicy::kNever;
    if (job != before) core::touch(state, job);
  }
}

void Simulation::boot() {
  while (!try_boot()) {
    server_->engine.crash();
    world_.advance(Millis{1'000});
  }
}

// In the order of server::Server::start(). False when the engine does not answer: then the server
// exits, and is started again.
bool Simulation::try_boot() {
  server_ = std::make_unique<Server>(*this);
  disk_trouble_.failing_commits = 0;
  Result<server::TickResult> loaded = server_->control.load(world_.now());
  if (!loaded.ok()) {
    fail({cat("the store cannot be loaded: ", loaded.error().text())});
    return true;
  }
  publish(std::move(loaded->publication), true);
  Status started = server_->engine.start([this](engine::Observation seen) { hear(seen); });
  if (started.ok()) started = server_->observer.look();
  if (!started.ok()) return false;
  Result<std::vector<engine::Running>> running = server_->engine.list();
  if (!running.ok()) return false;
  std::vector<server::Order> pending = server_->control.pending_orders();
  if (options_.bug != Bug::kSkipReconcile) receive(server::to_command(*running));
  if (options_.bug != Bug::kForgetOutbox) server_->effects.add(std::move(pending));
  return true;
}

void Simulation::crash() {
  ++report_.crashes;
  bool all_committed = !server_->committing;
  server_->engine.crash();
  core::State before = server_->control.state();
  ledger_.crashed();
  if (rng_.chance(60)) world_.advance(Millis{static_cast<int64_t>(rng_.below(3'600'000))});
  if (may_lose_ && rng_.chance(20)) {
    note("power fails: every container is gone");
    world_.lose_all();
  }
  boot();
  if (all_committed && !failed()) fail(compare(before, server_->control.state()));
  if (!failed()) check();
  if (!failed()) fail(check_usage());
}

}  // namespace tessera::simulation
