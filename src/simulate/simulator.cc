#include "simulate/simulator.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "core/sched/durations/hazard.h"
#include "core/snapshot.h"
#include "core/step.h"

namespace tessera::simulate {

const std::vector<Policy>& policies() {
  using sched::Placement;
  static const std::vector<Policy> kPolicies = {
      {"fragmentation", {.placement = Placement::kFragmentation}, Order::kSubmission},
      {"pack", {.placement = Placement::kPack}, Order::kSubmission},
      {"spread", {.placement = Placement::kSpread}, Order::kSubmission},
      {"shortest", {.placement = Placement::kPack}, Order::kShortest},
      {"learnt", {.placement = Placement::kPack}, Order::kLearnt},
  };
  return kPolicies;
}

namespace {

// Any: only differences count.
constexpr Instant kBeginning{1'000'000'000'000};

int64_t accelerators_of(const Submission& job) {
  sched::Demand demand = sched::demand_of(job.resources);
  return std::max<int64_t>(demand.devices * job.replicas, 1);
}

// Learns how long jobs run from those that ended.
class Learner {
 public:
  sched::Log index(const Submission& job) { return durations_.gittins(pools(job), 0); }
  void ran(const Submission& job) {
    auto of = pools(job);
    durations_.ended(of, durations_.reached(of, 0, job.runs.value));
  }

 private:
  sched::Durations::Pools pools(const Submission& job) {
    int64_t size = accelerators_of(job);
    return {durations_.pool("all"), durations_.pool(cat("size ", size)),
            durations_.pool(cat("project ", job.project, " size ", size))};
  }
  sched::Durations durations_;
};

class Run {
 public:
  Run(const Workload& workload, const Policy& policy, const Watch& watch)
      : workload_(workload), policy_(policy), watch_(watch) {
    for (const Machine& machine : workload.machines) add(machine);
    std::set<std::string> projects;
    for (const auto& [name, quota] : workload.projects) projects.insert(name);
    for (const Submission& job : workload.jobs) projects.insert(job.project);
    for (const std::string& name : projects) {
      api::Project project;
      project.metadata.name = name;
      auto quota = workload.projects.find(name);
      if (quota != workload.projects.end()) project.spec.quota = quota->second;
      step(core::CreateProject{project});
    }
    outcome_.fates.resize(workload.jobs.size());
    for (size_t i = 0; i < workload.jobs.size(); ++i) outcome_.fates[i].job = &workload.jobs[i];
  }

  Outcome go() {
    size_t next_job = 0, next_happening = 0;
    const auto& jobs = workload_.jobs;
    const auto& happenings = workload_.happenings;
    constexpr Instant kNever{INT64_MAX};
    auto due = [&](const auto& list, size_t at) {
      return at < list.size() ? kBeginning + list[at].at : kNever;
    };
    while (true) {
      settle();
      now_ = std::min({due(jobs, next_job), due(happenings, next_happening),
                       ends_.empty() ? kNever : ends_.begin()->first});
      if (now_ == kNever) break;  // what still waits will wait for ever
      while (!ends_.empty() && ends_.begin()->first == now_) finish_first();
      for (; due(happenings, next_happening) == now_; ++next_happening)
        happen(happenings[next_happening]);
      for (; due(jobs, next_job) == now_; ++next_job) submit(next_job);
      if (watch_.progress) watch_.progress(next_job);
    }
    return std::move(outcome_);
  }

 private:
  struct Running {
    std::string task;
    int64_t attempt = 0;
    auto operator<=>(const Running&) const = default;
  };

  // What only a fault of the simulator could make fail.
  void step(const core::Command& command) { CHECK(core::step(state_, command, now_).ok()); }

  void add(const Machine& machine) {
    api::Node node;
    node.metadata.name = machine.name;
    node.status.ready = true;
    node.status.cpus = machine.cpus;
    node.status.memory = machine.memory;
    step(core::ObserveNode{node});
    core::ObserveAccelerators seen{machine.name, {}};
    for (int64_t i = 0; i < machine.accelerators; ++i) {
      api::Accelerator device;
      device.metadata.name = cat(machine.name, "/", i);
      device.status.node = machine.name;
      device.status.model = machine.model;
      device.status.index = i;
      device.status.memory = machine.accelerator_memory;
      seen.accelerators.push_back(std::move(device));
    }
    step(seen);
    outcome_.capacity.value += machine.accelerators * 1000;
    devices_of_.emplace(machine.name, machine.accelerators);
  }

  void submit(size_t at) {
    const Submission& given = workload_.jobs[at];
    api::Job job;
    job.metadata.name = given.name;
    job.metadata.project = given.project;
    job.metadata.uid = cat(at);
    job.spec.image = "simulated";
    job.spec.resources = given.resources;
    job.spec.replicas = given.replicas;
    job.spec.priority = given.priority;
    job.spec.requeue = true;
    Status taken = core::step(state_, core::CreateJob{job}, now_);
    if (!taken.ok()) {
      ++outcome_.refused[taken.error().message];
      return;
    }
    position_[core::object_key(given.project, given.name)] = at;
    ++waiting_[given.project];
  }

  size_t position(const api::Task& task) const {
    return position_.at(core::object_key(task.project, task.job));
  }

  void happen(const Happening& one) {
    using What = Happening::What;
    if (one.what == What::kStop) {
      auto [project, name] = std::pair(one.target.substr(0, one.target.find('/')),
                                       one.target.substr(one.target.find('/') + 1));
      // Of a job that is over nothing is left to stop.
      if (state_.jobs.contains(one.target)) step(core::StopJob{project, name, {}, {}, {}});
    } else if (one.what == What::kFence || one.what == What::kHeal) {
      set_health(one.target,
                 one.what == What::kFence ? api::Health::kFenced : api::Health::kHealthy);
    } else {
      api::Node node = state_.nodes.at(one.target);
      node.spec.unschedulable = one.what == What::kCordon;
      step(core::ReplaceNode{node});
    }
  }

  void set_health(const std::string& device, api::Health health) {
    core::ObserveAccelerators seen{state_.accelerators.at(device).status.node, {}};
    for (const auto& [name, known] : state_.accelerators) {
      if (known.status.node != seen.node) continue;
      seen.accelerators.push_back(known);
      if (name == device) seen.accelerators.back().status.health = health;
    }
    step(seen);
  }

  void note(std::string_view job, std::string_view what) {
    outcome_.log.push_back(cat(format_duration(now_ - kBeginning), " ", job, " ", what));
  }

  void log(const sched::LinePlan& plan) {
    if (!watch_.log) return;
    for (const sched::Eviction& eviction : plan.evictions)
      note(eviction.job, cat("gives way to ", eviction.beneficiary));
    for (const sched::Decision& decision : plan.decisions) {
      std::string where;
      for (const sched::Assignment& task : decision.tasks) {
        std::vector<std::string> shares;
        for (const api::Allocation& share : task.allocations) {
          std::string index = cat(state_.accelerators.at(share.accelerator).status.index);
          shares.push_back(share.exclusive ? index
                                           : cat(index, ":", format_memory(share.memory), "/",
                                                 share.compute.value, "%"));
        }
        where += cat(" ", task.node, "[", join(shares, ","), "]");
      }
      note(decision.job, cat("starts on", where));
      reasons_.erase(decision.job);
    }
    for (const sched::Wait& wait : sched::all_waits(plan, state_.planner.queue))
      if (std::string& told = reasons_[wait.request->job]; told != *wait.message)
        note(wait.request->job, told = *wait.message);
  }

  // Carries out what the state asks of an engine, and plans, until nothing more happens now.
  void settle() {
    bool planned = false;
    do {
      carry_out();
      if (!state_.plan_needed) break;
      sched::LinePlan plan = decide();
      log(plan);
      core::apply_plan(state_, plan, now_);
      state_.plan_needed = false;
      planned = true;
    } while (!state_.changes.effects.empty());
    state_.changes = {};
    if (planned) sample();
  }

  sched::LinePlan decide() {
    if (policy_.order == Order::kSubmission) return state_.planner.plan(policy_.placement, now_);
    sched::Snapshot snapshot = core::make_snapshot(state_, now_);
    put_in_order(snapshot.queue);
    return sched::Planner(snapshot).plan(policy_.placement, now_);
  }

  void carry_out() {
    while (!state_.changes.effects.empty()) {
      std::vector<core::Effect> effects = std::move(state_.changes.effects);
      state_.changes.effects.clear();
      for (const core::Effect& effect : effects) {
        step(core::EffectDone{effect.id});
        Running which{effect.task, effect.attempt};
        if (effect.what == core::Effect::What::kEnsure) start(which);
        if (effect.what == core::Effect::What::kStop) stop(which);
      }
    }
  }

  void start(const Running& which) {
    auto task = state_.tasks.find(which.task);
    if (task == state_.tasks.end() || task->second.attempt != which.attempt) return;
    size_t at = position(task->second);
    Fate& fate = outcome_.fates[at];
    if (task->second.index == 0) {
      fate.started = now_ - kBeginning;
      --waiting_[fate.job->project];
    }
    Instant end = now_ + fate.job->runs;
    ends_.emplace(end, which);
    ends_of_[which] = end;
    step(core::TaskStarted{which.task, which.attempt});
  }

  void stop(const Running& which) {
    auto end = ends_of_.find(which);
    if (end == ends_of_.end()) return;
    ends_.erase({end->second, which});
    ends_of_.erase(end);
    const api::Task& task = state_.tasks.at(which.task);
    if (task.index == 0) {
      ++waiting_[task.project];
      if (watch_.log) note(core::object_key(task.project, task.job), "is stopped");
    }
    constexpr int64_t kTerminated = 128 + 15;
    step(core::TaskExited{.task = which.task, .attempt = which.attempt, .exit_code = kTerminated});
  }

  void finish_first() {
    Running which = ends_.begin()->second;
    ends_.erase(ends_.begin());
    ends_of_.erase(which);
    const api::Task& task = state_.tasks.at(which.task);
    std::string key = core::object_key(task.project, task.job);
    Fate& fate = outcome_.fates[position(task)];
    step(core::TaskExited{.task = which.task, .attempt = which.attempt});
    if (!api::is_terminal(state_.jobs.at(key).status.phase)) return;  // others of the gang run
    fate.ended = now_ - kBeginning;
    if (watch_.log) note(key, "ends");
    learner_.ran(*fate.job);
    step(core::DeleteJob{fate.job->project, fate.job->name});
    position_.erase(key);
  }

  void put_in_order(std::vector<sched::RequestPtr>& queue) {
    if (policy_.order == Order::kSubmission || queue.size() < 2) return;
    using Key = std::pair<int64_t, sched::Log>;  // priority first
    std::vector<std::pair<Key, sched::RequestPtr>> keyed;
    for (sched::RequestPtr& request : queue) {
      const Submission& job = workload_.jobs[position_.at(request->job)];
      sched::Log key = sched::log_of(accelerators_of(job));
      if (policy_.order == Order::kShortest)
        key = key + sched::log_of(job.runs.value);
      else
        key = key - learner_.index(job);
      keyed.push_back({{-job.priority, key}, std::move(request)});
    }
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(keyed.begin(), keyed.end(), queue.begin(),
                   [](auto& entry) { return std::move(entry.second); });
  }

  void sample() {
    Sample sample{.at = now_ - kBeginning};
    for (const auto& [project, count] : waiting_) {
      sample.waiting += count;
      if (count > 0) sample.waiting_of[project] = count;
    }
    std::map<std::string_view, std::set<std::string_view>> held;  // devices, by machine
    for (const std::string& id : state_.holding) {
      const api::Task& task = state_.tasks.at(id);
      const Submission& job = workload_.jobs[position(task)];
      if (job.resources.gpus)
        sample.used += *job.resources.gpus;
      else
        sample.used.value += static_cast<int64_t>(task.allocations.size()) * 1000;
      for (const api::Allocation& share : task.allocations)
        held[task.node].insert(share.accelerator);
    }
    for (const auto& [machine, devices] : held)
      sample.fragmented += devices_of_.find(machine)->second - static_cast<int64_t>(devices.size());
    outcome_.samples.push_back(std::move(sample));
  }

  const Workload& workload_;
  const Policy& policy_;
  const Watch& watch_;
  std::map<std::string, std::string> reasons_;  // why jobs wait, as last told
  Instant now_ = kBeginning;
  core::State state_;
  std::map<std::string, int64_t, std::less<>> devices_of_;  // by machine
  Learner learner_;
  Outcome outcome_;
  std::map<std::string, size_t> position_;  // in the workload, by key
  std::map<std::string, int64_t> waiting_;  // jobs, by project
  std::set<std::pair<Instant, Running>> ends_;
  std::map<Running, Instant> ends_of_;
};

}  // namespace

Outcome run(const Workload& workload, const Policy& policy, const Watch& watch) {
  return Run(workload, policy, watch).go();
}

}  // namespace tessera::simulate
