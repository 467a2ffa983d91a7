#include "core/sched/mix.h"

#include <algorithm>

namespace tessera::sched {

bool Arrivals::add(const Demand& demand, int64_t tasks) {
  counts_[demand] += tasks;
  total_ += tasks;
  if (total_ < next_) return false;
  next_ = std::max(total_ + 1, std::min(total_ * 3 / 2, total_ + 2000));
  known_.clear();
  for (const auto& [known, count] : counts_) known_.push_back({known, count});
  return true;
}

void Arrivals::restore(std::vector<Arrival> known) {
  known_ = std::move(known);
  for (const Arrival& arrival : known_) {
    counts_[arrival.demand] += arrival.tasks;
    total_ += arrival.tasks;
  }
  next_ = std::max(total_ + 1, std::min(total_ * 3 / 2, total_ + 2000));
}

namespace {

int64_t milli_of(const Kind& kind, const Demand& demand) {
  if (!matches(kind, demand)) return 0;
  if (!demand.sliced()) return 1000;
  if (demand.fraction && !demand.slice_memory && !demand.slice_compute)
    return demand.fraction->value;
  Share share = share_of(kind.memory, demand);
  int64_t memory = share.memory.value * 1000 / std::max<int64_t>(1, kind.memory.value);
  return std::clamp<int64_t>(std::max(memory, share.compute.value * 10), 1, 1000);
}

struct Counted {
  Mix::Class what;
  int64_t tasks = 0;
};

// Demands that only differ in what packing does not look at (memory of the host) are one class.
std::vector<Counted> classes_of(std::span<const Arrival> arrivals, const std::vector<Kind>& kinds) {
  std::vector<Counted> out;
  for (const Arrival& arrival : arrivals) {
    const Demand& demand = arrival.demand;
    Mix::Class what{.cpus = demand.cpus, .devices = demand.devices, .milli = {}};
    for (const Kind& kind : kinds)
      what.milli.push_back(demand.devices == 0 ? 0 : milli_of(kind, demand));
    auto same = std::ranges::find_if(out, [&](const Counted& known) {
      return known.what.cpus == what.cpus && known.what.devices == what.devices &&
             known.what.milli == what.milli;
    });
    if (same == out.end()) same = out.insert(same, {std::move(what), 0});
    same->tasks += arrival.tasks;
  }
  std::ranges::stable_sort(out, std::greater(), &Counted::tasks);
  return out;
}

// The most frequent ones that make up 95 % are all that counts: the rest is noise.
void keep_most(std::vector<Counted>& classes) {
  int64_t total = 0, seen = 0;
  for (const Counted& one : classes) total += one.tasks;
  size_t kept = 0;
  while (kept < classes.size() && seen * 100 < total * 95) seen += classes[kept++].tasks;
  classes.resize(kept);
}

}  // namespace

Mix make_mix(std::span<const Arrival> arrivals, const std::vector<Kind>& kinds) {
  std::vector<Counted> counted = classes_of(arrivals, kinds);
  keep_most(counted);
  Mix mix;
  int64_t total = 0, volume = 0;
  for (const Counted& one : counted) total += one.tasks;
  for (Counted& one : counted) {
    int64_t most = one.what.milli.empty() ? 0 : *std::ranges::max_element(one.what.milli);
    int64_t milli = most * one.what.devices;
    one.what.weight = one.tasks * kPpm / total;
    if (milli > 0 && one.what.cpus && one.what.cpus->value > 0)
      mix.ratios.push_back({one.what.cpus->value, milli, one.tasks * milli});
    volume += one.tasks * milli;
    mix.classes.push_back(std::move(one.what));
  }
  for (Mix::Ratio& ratio : mix.ratios) ratio.weight = ratio.weight * kPpm / volume;
  return mix;
}

}  // namespace tessera::sched
