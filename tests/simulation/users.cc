#include "users.h"

#include <iterator>

#include "api/envelope.h"
#include "base/text.h"
#include "shapes.h"

namespace tessera::simulation {

namespace {

// Projects that come and go, besides "default".
const std::string kProjects[] = {"vision", "speech"};
const std::string kNames[] = {"ana", "wei"};
// A store keeps a key for a day; users give up on a request long before.
constexpr Millis kRepeatFor{store::kIdempotencyAge.value / 2};

Request plain(core::Command command, std::string words) {
  return {.inbound = {.command = std::move(command), .idempotency = {}},
          .submission = {},
          .words = std::move(words)};
}

std::string path_of(const api::Job& job) {
  return core::object_key(job.metadata.project, job.metadata.name);
}

}  // namespace

std::vector<Request> Users::act(const core::State& state, Instant now) {
  static constexpr struct {
    uint64_t weight;
    Requests (Users::*action)(const core::State&, Instant);
  } kActions[] = {
      {40, &Users::submit}, {12, &Users::repeat},        {4, &Users::resubmit_same_name},
      {8, &Users::stop},    {7, &Users::remove},         {5, &Users::signal},
      {8, &Users::replace}, {8, &Users::change_project}, {3, &Users::change_secret},
      {5, &Users::cordon}};
  uint64_t sum = 0;
  for (const auto& row : kActions) sum += row.weight;
  uint64_t drawn = rng_.below(sum);
  for (const auto& row : kActions) {
    if (drawn < row.weight) return (this->*row.action)(state, now);
    drawn -= row.weight;
  }
  return {};
}

std::string Users::new_uid() {
  std::string out;
  for (int i = 0; i < 12; ++i) out += "0123456789abcdef"[rng_.below(16)];
  return out;
}

const api::Job* Users::any_job(const core::State& state) {
  if (state.jobs.empty()) return nullptr;
  return &std::next(state.jobs.begin(), static_cast<int64_t>(rng_.below(state.jobs.size())))
              ->second;
}

// --- Submitting --------------------------------------------------------------------------------

void Users::add_dependencies(const core::State& state, api::Job& job) {
  for (uint64_t i = 0, count = 1 + rng_.below(2); i < count; ++i) {
    const api::Job* other = any_job(state);
    if (!other || other->metadata.project != job.metadata.project) continue;
    api::Dependency wanted{.job = other->metadata.name, .index = {}};
    wanted.condition = static_cast<api::DependencyCondition>(rng_.below(4));
    if (rng_.chance(20)) wanted.delay = Millis{static_cast<int64_t>(rng_.below(600'000))};
    std::vector<int64_t> tasks = api::task_indices(other->spec);
    if (rng_.chance(30)) wanted.index = tasks[rng_.below(tasks.size())];
    job.spec.dependsOn.push_back(std::move(wanted));
  }
}

std::vector<Request> Users::submit(const core::State& state, Instant now) {
  api::Job job = random_job(rng_);
  job.metadata.project = rng_.chance(70) ? "default" : pick(rng_, kProjects);
  if (rng_.chance(50)) job.metadata.name = cat("job-", ledger_.submissions().size());
  if (rng_.chance(12)) add_dependencies(state, job);
  if (rng_.chance(8))
    job.spec.startAfter = now + Millis{static_cast<int64_t>(rng_.below(7'200'000))};
  return submit_job(std::move(job), now);
}

std::vector<Request> Users::submit_job(api::Job job, Instant now) {
  Submission submission{.key = {},
                        .job = std::move(job),
                        .asked = now,
                        .uids = {},
                        .object = {},
                        .ended = {},
                        .remove_after = {}};
  if (rng_.chance(80)) submission.key = cat("user/key-", ledger_.submissions().size());
  size_t index = ledger_.add(std::move(submission));
  Requests out;
  out.push_back(request_for(index));
  bool impatient = !ledger_.submissions()[index].key.empty() && rng_.chance(10);
  if (impatient) out.push_back(request_for(index));
  return out;
}

// As the handler of the route makes it: name and uid are new each time, the rest is the user's.
Request Users::request_for(size_t index) {
  Submission& submission = ledger_.submissions()[index];
  core::CreateJob command{submission.job};
  std::string uid = new_uid();
  command.job.metadata.uid = uid;
  command.job.metadata.annotations[std::string(api::kUserAnnotation)] = kNames[index % 2];
  if (command.job.metadata.name.empty()) command.job.metadata.name = chosen_name(uid);
  ledger_.requested(index, uid);
  std::string words =
      cat("submit ", path_of(command.job), " (", uid, ") of ", submission.job.spec.replicas, ": ",
          join(submission.job.spec.command, " "));
  server::Idempotency idempotency;
  if (!submission.key.empty()) idempotency = {submission.key, "as written"};
  if (bug_ == Bug::kForgetKeys) idempotency = {};
  return {.inbound = {std::move(command), std::move(idempotency)},
          .submission = index,
          .words = std::move(words)};
}

std::vector<Request> Users::repeat(const core::State&, Instant now) {
  std::vector<size_t> fit;
  for (size_t i = 0; i < ledger_.submissions().size(); ++i) {
    const Submission& one = ledger_.submissions()[i];
    bool answered_well = one.fate != Submission::Fate::kRefused;
    if (!one.key.empty() && answered_well && now - one.asked < kRepeatFor) fit.push_back(i);
  }
  if (fit.empty()) return {};
  Requests out;
  out.push_back(request_for(fit[rng_.below(fit.size())]));
  out.back().words = "again: " + out.back().words;
  return out;
}

std::vector<Request> Users::resubmit_same_name(const core::State& state, Instant now) {
  const api::Job* old = any_job(state);
  if (!old) return {};
  Requests out;
  out.push_back(delete_request(*old));
  api::Job job = random_job(rng_);
  job.metadata.project = old->metadata.project;
  job.metadata.name = old->metadata.name;
  for (Request& request : submit_job(std::move(job), now)) out.push_back(std::move(request));
  return out;
}

// --- Changing ----------------------------------------------------------------------------------

std::vector<Request> Users::stop(const core::State& state, Instant) {
  const api::Job* job = any_job(state);
  if (!job) return {};
  core::StopJob command{job->metadata.project, job->metadata.name, {}, std::nullopt};
  if (rng_.chance(30)) command.signal = "SIGINT";
  if (rng_.chance(30)) command.grace = Millis{static_cast<int64_t>(rng_.below(20'000))};
  if (job->spec.array && rng_.chance(60)) command.index = api::task_indices(job->spec).back();
  ledger_.stop_asked(command.project, command.name, false);
  return {plain(std::move(command), "stop " + path_of(*job))};
}

Request Users::delete_request(const api::Job& job) {
  ledger_.stop_asked(job.metadata.project, job.metadata.name, true);
  return plain(core::DeleteJob{job.metadata.project, job.metadata.name, 0},
               "delete " + path_of(job));
}

std::vector<Request> Users::remove(const core::State& state, Instant) {
  const api::Job* job = any_job(state);
  if (!job) return {};
  return {delete_request(*job)};
}

std::vector<Request> Users::signal(const core::State& state, Instant) {
  static const std::string kSignals[] = {"SIGUSR1", "SIGTERM", "SIGKILL", "SIGWINCH"};
  const api::Job* job = any_job(state);
  if (!job) return {};
  std::string signal = pick(rng_, kSignals);
  return {plain(core::SignalJob{job->metadata.project, job->metadata.name, signal},
                cat("signal ", path_of(*job), " with ", signal))};
}

std::vector<Request> Users::replace(const core::State& state, Instant) {
  const api::Job* job = any_job(state);
  if (!job) return {};
  core::ReplaceJob command{*job};
  if (rng_.chance(80)) command.job.metadata.resourceVersion = 0;
  switch (rng_.below(3)) {
    case 0:
      command.job.spec.priority = static_cast<int64_t>(rng_.below(11)) - 5;
      break;
    case 1:
      command.job.spec.maxRuntime = Millis{1'000 + static_cast<int64_t>(rng_.below(3'600'000))};
      break;
    default:
      command.job.spec.removeAfter = Millis{1'000 + static_cast<int64_t>(rng_.below(3'600'000))};
  }
  return {plain(std::move(command), "change " + path_of(*job))};
}

api::Project Users::random_project(const std::string& name) {
  api::Project project;
  project.metadata.name = name;
  project.metadata.uid = new_uid();
  if (rng_.chance(60)) project.spec.quota.max = MilliGpu{500 * static_cast<int64_t>(rng_.below(9))};
  return project;
}

std::vector<Request> Users::change_project(const core::State& state, Instant) {
  std::string name = pick(rng_, kProjects);
  auto known = state.projects.find(name);
  auto create = [&] {
    return plain(core::CreateProject{random_project(name)}, "create project " + name);
  };
  if (known == state.projects.end()) return {create()};
  if (rng_.chance(60)) {
    api::Project changed = random_project(name);
    changed.metadata = known->second.metadata;
    return {plain(core::ReplaceProject{std::move(changed)}, "change project " + name)};
  }
  Requests out;
  out.push_back(plain(core::DeleteProject{name, 0}, "delete project " + name));
  if (rng_.chance(50)) out.push_back(create());
  return out;
}

std::vector<Request> Users::change_secret(const core::State& state, Instant) {
  std::string project = rng_.chance(60) ? "default" : pick(rng_, kProjects);
  if (state.secrets.contains(core::object_key(project, "token")))
    return {plain(core::DeleteSecret{project, "token", 0}, "delete the secret of " + project)};
  core::CreateSecret command;
  command.secret.metadata.project = project;
  command.secret.metadata.name = "token";
  command.secret.metadata.uid = new_uid();
  command.secret.data["value"] = "s3cret";
  return {plain(std::move(command), "create the secret of " + project)};
}

std::vector<Request> Users::cordon(const core::State& state, Instant) {
  if (state.nodes.empty()) return {};
  core::ReplaceNode command{state.nodes.begin()->second};
  command.node.metadata.resourceVersion = 0;
  bool cordoned = command.node.spec.unschedulable;
  command.node.spec.unschedulable = !cordoned && rng_.chance(25);
  return {plain(std::move(command), cordoned ? "uncordon the node" : "cordon the node, perhaps")};
}

std::vector<Request> Users::give_up(const core::State& state) {
  Requests out;
  for (const auto& [key, job] : state.jobs) {
    bool ends = api::is_terminal(job.status.phase) || job.status.phase == api::Phase::kStopping;
    if (ends || !runs_forever(job.spec)) continue;
    if (rng_.chance(50)) {
      out.push_back(delete_request(job));
      continue;
    }
    ledger_.stop_asked(job.metadata.project, job.metadata.name, false);
    out.push_back(plain(core::StopJob{job.metadata.project, job.metadata.name, {}, std::nullopt},
                        "stop " + key));
  }
  return out;
}

}  // namespace tessera::simulation
