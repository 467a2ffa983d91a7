#include "core/sched/durations/hazard.h"

#include <algorithm>
#include <array>

namespace tessera::sched {

namespace {

constexpr size_t kBins = 72;                // the last begins after 4 years
constexpr int64_t kOne = int64_t{1} << 24;  // of probabilities

// Of nothing known: the same in each bin, which is a duration of which each power of 1.25 is as
// likely as the next.
constexpr int64_t kUnknown = kOne / 10;

// How many jobs of a pool weigh as much as the pool around it, the widest first; the last goes for
// all that are narrower.
constexpr std::array<int64_t, 4> kWeights = {4, 8, 5, 10};

constexpr std::array<int64_t, kBins + 1> make_starts() {
  std::array<int64_t, kBins + 1> starts{};
  int64_t start = 20'000;
  for (size_t i = 1; i <= kBins; ++i, start += start / 4) starts[i] = start;
  return starts;
}
constexpr auto kStarts = make_starts();

}  // namespace

size_t bin_of(int64_t progress_ms) {
  auto after = std::upper_bound(kStarts.begin(), kStarts.begin() + kBins, progress_ms);
  return after == kStarts.begin() ? 0 : static_cast<size_t>(after - kStarts.begin()) - 1;
}

int64_t start_of_bin(size_t bin) {
  return kStarts[std::min(bin, kBins)];
}

size_t Durations::pool(const std::string& name) {
  auto [found, fresh] = names_.emplace(name, pools_.size());
  if (fresh) pools_.emplace_back(kBins);
  return found->second;
}

size_t Durations::reached(const Pools& pools, size_t from, int64_t progress_ms) {
  size_t bin = bin_of(progress_ms);
  if (bin <= from) return from;
  hazards_.clear();
  for (size_t pool : pools)
    for (size_t i = from; i < bin; ++i) ++pools_[pool][i].at_risk;
  return bin;
}

void Durations::ended(const Pools& pools, size_t bin) {
  hazards_.clear();
  for (size_t pool : pools) {
    ++pools_[pool][bin].at_risk;
    ++pools_[pool][bin].ended;
  }
}

const std::vector<int64_t>& Durations::hazards(const Pools& pools) const {
  auto [found, fresh] = hazards_.try_emplace(pools, kBins, kUnknown);
  std::vector<int64_t>& out = found->second;
  if (!fresh) return out;
  for (size_t level = 0; level < pools.size(); ++level) {
    const std::vector<Bin>& pool = pools_[pools[level]];
    int64_t weight = kWeights[std::min(level, kWeights.size() - 1)];
    for (size_t i = 0; i < kBins; ++i)
      out[i] = (pool[i].ended * kOne + weight * out[i]) / (pool[i].at_risk + weight);
  }
  return out;
}

Log Durations::gittins(const Pools& pools, int64_t progress_ms) const {
  const std::vector<int64_t>& hazard = hazards(pools);
  size_t from = bin_of(progress_ms);
  int64_t alive = kOne, time = 0;
  int64_t best_ended = 0, best_time = 1;
  for (size_t i = from; i < kBins; ++i) {
    int64_t left = kStarts[i + 1] - kStarts[i], ends = hazard[i];
    if (i == from) {  // of the bin that it is in only what is left
      int64_t rest = std::max<int64_t>(kStarts[i + 1] - progress_ms, 1);
      ends = ends * ((rest << 10) / left) >> 10;
      left = rest;
    }
    int64_t gone = alive * ends / kOne;
    time += (alive - gone / 2) / 16 * left;  // who ends does so in the middle of the bin
    alive -= gone;
    if (static_cast<__int128>(kOne - alive) * best_time >
        static_cast<__int128>(best_ended) * time) {
      best_ended = kOne - alive;
      best_time = time;
    }
    if (alive < kOne / 1024) break;
  }
  return log_of(best_ended) - log_of(best_time);
}

}  // namespace tessera::sched
