#include "bench/completion/published.h"

#include <algorithm>
#include <cmath>

namespace bench {

namespace {

// Places jobs one after another, the first node that has room; more than 8 devices take idle nodes.
class Nodes {
 public:
  bool place(int devices) {
    if (devices <= kDevices) {
      for (int& free : free_)
        if (free >= devices) return free -= devices, true;
      return false;
    }
    auto idle = std::count(free_.begin(), free_.end(), kDevices);
    if (idle * kDevices < devices) return false;
    for (int& free : free_)
      if (free == kDevices && devices > 0) free = 0, devices -= kDevices;
    return true;
  }

 private:
  static constexpr int kDevices = 8;
  std::array<int, kCapacity / kDevices> free_ = {8, 8, 8, 8, 8, 8, 8, 8};
};

class Fifo : public Scheduler {
 public:
  std::vector<Group> choose(std::vector<Active*>& jobs, double) override {
    Nodes nodes;
    std::vector<Group> out;
    for (Active* job : jobs) {
      if (!nodes.place(job->job->devices)) break;
      out.push_back({job});
    }
    return out;
  }
};

class Shortest : public Scheduler {
 public:
  explicit Shortest(bool service) : service_(service) {}

  std::vector<Group> choose(std::vector<Active*>& jobs, double) override {
    auto key = [&](const Active* a) { return a->remaining() * (service_ ? a->job->devices : 1); };
    std::stable_sort(jobs.begin(), jobs.end(),
                     [&](const Active* a, const Active* b) { return key(a) < key(b); });
    Nodes nodes;
    std::vector<Group> out;
    for (Active* job : jobs)
      if (nodes.place(job->job->devices)) out.push_back({job});
    return out;
  }

 private:
  bool service_;
};

class Tiresias : public Scheduler {
 public:
  void arrived(Active& job, double) override { levels_[0].push_back(&job); }

  void ended(Active& job, double) override {
    std::erase(levels_[static_cast<size_t>(job.level)], &job);
  }

  std::vector<Group> choose(std::vector<Active*>& jobs, double) override {
    for (Active* job : jobs) {
      auto level = static_cast<size_t>(job->level);
      if (!job->running || level >= kLimits.size()) continue;
      if (job->held * job->job->devices < kLimits[level]) continue;
      std::erase(levels_[level], job);
      levels_[level + 1].push_back(job);
      ++job->level;
    }
    int free = kCapacity;
    std::vector<Group> out;
    for (auto& level : levels_) {
      std::vector<Active*> waiting;
      std::erase_if(level, [&](Active* job) {
        if (job->job->devices > free) {
          waiting.push_back(job);
          return true;
        }
        free -= job->job->devices;
        out.push_back({job});
        return false;
      });
      level.insert(level.end(), waiting.begin(), waiting.end());
    }
    return out;
  }

  double review(const std::vector<Active*>& jobs, double now) override {
    double next = kNever;
    for (const Active* job : jobs) {
      auto level = static_cast<size_t>(job->level);
      if (job->running && level < kLimits.size())
        next = std::min(next, now + std::ceil(kLimits[level] / job->job->devices) - job->held);
    }
    return next;
  }

 private:
  static constexpr std::array<double, 2> kLimits = {3250, 7200};  // device-seconds
  std::array<std::vector<Active*>, 3> levels_;                    // in the order of service
};

}  // namespace

std::unique_ptr<Scheduler> make_fifo() {
  return std::make_unique<Fifo>();
}
std::unique_ptr<Scheduler> make_srtf() {
  return std::make_unique<Shortest>(false);
}
std::unique_ptr<Scheduler> make_srsf() {
  return std::make_unique<Shortest>(true);
}
std::unique_ptr<Scheduler> make_tiresias() {
  return std::make_unique<Tiresias>();
}

}  // namespace bench
