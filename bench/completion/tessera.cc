#include "bench/completion/tessera.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "core/sched/durations/hazard.h"
#include "core/sched/order/grouping.h"
#include "core/sched/order/order.h"

namespace bench {

namespace {

namespace sched = tessera::sched;
using sched::Log;

int64_t to_ms(double seconds) {
  return static_cast<int64_t>(seconds * 1000);
}

// What is learnt of durations while a trace runs. The traces do not say whose job it is, so jobs of
// one size that came shortly after one another stand for the same user's.
class Learnt {
 public:
  void arrived(const Active& job, double now) {
    int devices = job.job->devices;
    auto [last, first] = last_.try_emplace(devices, Chain{now, 0});
    if (first || now - last->second.arrival > kSameUser) last->second.number = ++chains_;
    last->second.arrival = now;
    seen_[job.job] = {{durations_.pool("all"), durations_.pool("size " + std::to_string(devices)),
                       durations_.pool("chain " + std::to_string(last->second.number))},
                      0};
  }

  void ended(const Active& job) {
    reached(job, job.job->work());
    const Seen& seen = seen_.at(job.job);
    durations_.ended(seen.pools, seen.bin);
    seen_.erase(job.job);
  }

  std::vector<Log> indices(const std::vector<Active*>& jobs) {
    for (const Active* job : jobs) reached(*job, job->progress());
    std::map<std::pair<sched::Durations::Pools, int64_t>, Log> known;  // most have not begun
    std::vector<Log> out;
    for (const Active* job : jobs) {
      const auto& pools = seen_.at(job->job).pools;
      int64_t progress = to_ms(job->progress());
      auto [found, fresh] = known.try_emplace({pools, progress});
      if (fresh) found->second = durations_.gittins(pools, progress);
      out.push_back(found->second);
    }
    return out;
  }

  // When a job that runs now will have reached the next bin.
  double next_bin(const Active& job, double now) const {
    double next = static_cast<double>(sched::start_of_bin(seen_.at(job.job).bin + 1)) / 1000;
    return now + job.overhead + (next - job.progress()) / job.job->iteration * job.round;
  }

 private:
  static constexpr double kSameUser = 100;  // seconds between two submissions
  struct Chain {
    double arrival = 0;
    int number = 0;
  };
  struct Seen {
    sched::Durations::Pools pools;
    size_t bin = 0;
  };

  void reached(const Active& job, double progress) {
    Seen& seen = seen_.at(job.job);
    seen.bin = durations_.reached(seen.pools, seen.bin, to_ms(progress));
  }

  sched::Durations durations_;
  std::map<const Job*, Seen> seen_;
  std::map<int, Chain> last_;  // by size
  int chains_ = 0;
};

std::vector<sched::Contender> contenders_of(const std::vector<Active*>& jobs) {
  std::vector<sched::Contender> out;
  for (const Active* job : jobs)
    out.push_back({job->job->devices, to_ms(job->remaining()), job->running});
  return out;
}

std::vector<Group> alone(const std::vector<Active*>& jobs, const sched::JobOrder& ranking) {
  std::vector<Group> out;
  for (size_t at : ranking) out.push_back({jobs[at]});
  return out;
}

class Known : public Scheduler {
 public:
  std::vector<Group> choose(std::vector<Active*>& jobs, double) override {
    auto contenders = contenders_of(jobs);
    return alone(
        jobs, sched::admitted(contenders, sched::by_remaining(contenders, kCapacity), kCapacity));
  }
};

// Orders that change while jobs run are looked at again when one reaches the next bin.
class Learning : public Scheduler {
 public:
  void arrived(Active& job, double now) override { learnt_.arrived(job, now); }
  void ended(Active& job, double) override { learnt_.ended(job); }
  double review(const std::vector<Active*>& jobs, double now) override {
    double next = kNever;
    for (const Active* job : jobs)
      if (job->running) next = std::min(next, learnt_.next_bin(*job, now));
    return std::max(next, now + kReview);
  }

 protected:
  Learnt learnt_;

 private:
  static constexpr double kReview = 3000;  // seconds, at least: each costs everyone a start
};

class Unknown : public Learning {
 public:
  std::vector<Group> choose(std::vector<Active*>& jobs, double) override {
    auto contenders = contenders_of(jobs);
    auto ranking = sched::by_index(contenders, learnt_.indices(jobs), sched::kLogOf2);
    return alone(jobs, sched::admitted(contenders, ranking, kCapacity));
  }
};

// Values of jobs for sharing, from how long they still run or from their index.
constexpr int64_t kKnownTime = -400, kKnownDevices = 500;  // exponents in thousandths
constexpr int64_t kUnknownIndex = 300, kUnknownDevices = 600;

class Sharing {
 public:
  std::vector<Group> choose(const std::vector<Active*>& jobs, const std::vector<Log>& values) {
    std::vector<sched::Sharer> sharers;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const Job& job = *jobs[i]->job;
      examples_[{job.devices, static_cast<size_t>(job.model)}] = &job;
      sharers.push_back({job.devices, static_cast<size_t>(job.model), values[i]});
    }
    std::vector<Group> out;
    for (const auto& group : sched::grouped(sharers, kCapacity, [this](auto devices, auto& kinds) {
           return speeds(devices, kinds);
         })) {
      out.emplace_back();
      for (size_t at : group) out.back().push_back(jobs[at]);
    }
    return out;
  }

 private:
  std::vector<int64_t> speeds(int64_t devices, const std::vector<size_t>& kinds) {
    auto [found, fresh] = known_.try_emplace({devices, kinds});
    if (!fresh) return found->second;
    std::vector<const Job*> members;
    for (size_t kind : kinds) members.push_back(examples_.at({devices, kind}));
    double round = round_of(members);
    for (const Job* member : members)
      found->second.push_back(
          static_cast<int64_t>(static_cast<double>(sched::kFullSpeed) * member->iteration / round));
    return found->second;
  }

  std::map<std::pair<int64_t, size_t>, const Job*> examples_;  // by size and kind
  std::map<std::pair<int64_t, std::vector<size_t>>, std::vector<int64_t>> known_;
};

class KnownSharing : public Scheduler {
 public:
  std::vector<Group> choose(std::vector<Active*>& jobs, double) override {
    if (jobs.empty()) return {};
    std::vector<Log> values;
    for (const Active* job : jobs)
      values.push_back(sched::log_of(to_ms(job->remaining())).power(kKnownTime) +
                       sched::log_of(job->job->devices).power(kKnownDevices));
    return sharing_.choose(jobs, values);
  }

 private:
  Sharing sharing_;
};

class UnknownSharing : public Learning {
 public:
  std::vector<Group> choose(std::vector<Active*>& jobs, double) override {
    if (jobs.empty()) return {};
    std::vector<Log> values = learnt_.indices(jobs);
    for (size_t i = 0; i < jobs.size(); ++i)
      values[i] = values[i].power(kUnknownIndex) +
                  sched::log_of(jobs[i]->job->devices).power(kUnknownDevices);
    return sharing_.choose(jobs, values);
  }

 private:
  Sharing sharing_;
};

class Default : public Learning {
 public:
  bool loses_work() const override { return true; }

  std::vector<Group> choose(std::vector<Active*>& jobs, double now) override {
    auto contenders = contenders_of(jobs);
    std::vector<Log> indices = learnt_.indices(jobs);
    std::vector<Log> keys;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const Active& job = *jobs[i];
      double held = now - job.started;
      Log key = sched::log_of(job.job->devices) - indices[i];
      if (job.running && held < kMinimumRun)
        key = Log{std::numeric_limits<int64_t>::min()};
      else if (job.running)
        key = key - sched::log_of(to_ms(held) / 1000);
      keys.push_back(key);
    }
    return alone(jobs, sched::admitted(contenders, sched::ranked(contenders, keys), kCapacity));
  }

 private:
  static constexpr double kMinimumRun = 600;  // seconds
};

}  // namespace

std::unique_ptr<Scheduler> make_tessera(Knowledge knowledge) {
  if (knowledge.durations && knowledge.sharing) return std::make_unique<KnownSharing>();
  if (knowledge.durations) return std::make_unique<Known>();
  if (knowledge.sharing) return std::make_unique<UnknownSharing>();
  return std::make_unique<Unknown>();
}
std::unique_ptr<Scheduler> make_tessera_default() {
  return std::make_unique<Default>();
}

}  // namespace bench
