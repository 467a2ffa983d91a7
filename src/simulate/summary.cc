#include "simulate/summary.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace tessera::simulate {

namespace {

int64_t accelerators_of(const Submission& job) {
  return sched::demand_of(job.resources).devices * job.replicas;
}

// Of jobs by the accelerators that they hold, together; sorted as text they stand in their order.
std::string size_class(const Submission& job) {
  int64_t accelerators = accelerators_of(job);
  if (job.resources.gpus && job.resources.gpus->value < 1000) return "0 a part";
  for (auto [most, name] : {std::pair{0, "0 none"}, {1, "1"}, {4, "2-4"}, {8, "5-8"}})
    if (accelerators <= most) return name;
  return "9 and more";
}

// The mean over time of what each sample has, as thousandths of the capacity.
template <class Amount>
int64_t mean_share(const Outcome& outcome, Amount amount) {
  __int128 sum = 0;
  for (size_t i = 0; i + 1 < outcome.samples.size(); ++i)
    sum += static_cast<__int128>(amount(outcome.samples[i])) *
           (outcome.samples[i + 1].at - outcome.samples[i].at).value;
  if (outcome.samples.size() < 2 || outcome.capacity.value == 0) return 0;
  __int128 whole = static_cast<__int128>(outcome.capacity.value) *
                   (outcome.samples.back().at - outcome.samples.front().at).value;
  return whole == 0 ? 0 : static_cast<int64_t>(sum * 1000 / whole);
}

Waits waits_of(std::string group, const std::vector<const Fate*>& fates) {
  Waits out{.group = std::move(group)};
  std::vector<int64_t> waits;
  for (const Fate* fate : fates) {
    ++out.jobs;
    if (fate->ended.value < 0) {
      ++out.unfinished;
      continue;
    }
    waits.push_back((fate->started - fate->job->at).value);
    out.completion += (fate->ended - fate->job->at).value;
    int64_t milli = fate->job->resources.gpus ? fate->job->resources.gpus->value : 0;
    out.gpu_ms += milli * fate->job->replicas * fate->job->runs.value;
  }
  if (waits.empty()) return out;
  auto count = static_cast<int64_t>(waits.size());
  std::sort(waits.begin(), waits.end());
  out.completion /= count;
  out.mean = std::accumulate(waits.begin(), waits.end(), int64_t{0}) / count;
  out.median = waits[waits.size() / 2];
  out.p99 = waits[waits.size() * 99 / 100];
  out.most = waits.back();
  return out;
}

template <class Key>
std::vector<Waits> grouped(const Outcome& outcome, Key key) {
  std::map<std::string, std::vector<const Fate*>> groups;
  for (const Fate& fate : outcome.fates) groups[key(*fate.job)].push_back(&fate);
  std::vector<Waits> out;
  for (const auto& [name, fates] : groups) out.push_back(waits_of(name, fates));
  return out;
}

}  // namespace

Summary summarise(const Outcome& outcome) {
  Summary out;
  std::vector<const Fate*> all;
  for (const Fate& fate : outcome.fates) {
    all.push_back(&fate);
    out.makespan = std::max(out.makespan, fate.ended.value);
  }
  out.all = waits_of("all", all);
  out.utilisation = mean_share(outcome, [](const Sample& s) { return s.used.value; });
  out.fragmentation = mean_share(outcome, [](const Sample& s) { return s.fragmented * 1000; });
  out.by_project = grouped(outcome, [](const Submission& job) { return job.project; });
  out.by_size = grouped(outcome, size_class);
  return out;
}

}  // namespace tessera::simulate
