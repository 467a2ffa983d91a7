#include "core/sched/order/grouping.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <queue>

namespace tessera::sched {

namespace {

using Group = std::vector<size_t>;
constexpr int kPriceSteps = 10;    // of the bisection: the price is then known to 3 %
constexpr int64_t kTopValue = 34;  // binary digits of the largest value: sums and products fit 63

// A multiset of kinds and how fast its members run.
struct Mix {
  std::vector<size_t> kinds;
  std::vector<int64_t> speeds;
};

// The sharers of one size.
struct Pool {
  int64_t devices = 0;
  std::map<size_t, std::vector<size_t>> of_kind;  // positions, the most valuable first
  std::vector<Mix> mixes;
};

void add_mixes(Pool& pool, const Speeds& speeds, std::vector<size_t>& kinds) {
  if (kinds.size() > 1) pool.mixes.push_back({kinds, speeds(pool.devices, kinds)});
  if (kinds.size() == kGroupLimit) return;
  for (const auto& [kind, members] : pool.of_kind) {
    if (!kinds.empty() && kind < kinds.back()) continue;
    auto used = static_cast<size_t>(std::count(kinds.begin(), kinds.end(), kind));
    if (used == members.size()) continue;
    kinds.push_back(kind);
    add_mixes(pool, speeds, kinds);
    kinds.pop_back();
  }
}

class Market {
 public:
  Market(std::span<const Sharer> sharers, const Speeds& speeds) {
    Log top = sharers.front().value;
    for (const Sharer& sharer : sharers) top = std::max(top, sharer.value);
    std::map<int64_t, Pool> pools;
    for (size_t i = 0; i < sharers.size(); ++i) {
      values_.push_back(exp_of(sharers[i].value - top + Log{kTopValue << 16}));
      pools[sharers[i].devices].of_kind[sharers[i].kind].push_back(i);
    }
    for (auto& [devices, pool] : pools) {
      pool.devices = devices;
      for (auto& [kind, members] : pool.of_kind)
        std::stable_sort(members.begin(), members.end(),
                         [&](size_t a, size_t b) { return values_[a] > values_[b]; });
      std::vector<size_t> kinds;
      add_mixes(pool, speeds, kinds);
      pools_.push_back(std::move(pool));
    }
  }

  struct Deal {
    Group group;
    int64_t worth = 0;  // of its speeds
    int64_t devices = 0;
  };

  // What is wanted at this price of a device by those that are not taken.
  std::vector<Deal> wanted(int64_t price, const std::vector<bool>& taken) const {
    std::vector<Deal> out;
    for (const Pool& pool : pools_) trade(pool, price, taken, out);
    return out;
  }

 private:
  using Heads = std::map<size_t, std::vector<size_t>>;  // of each kind, the most suitable last

  struct Offer {
    int64_t gain = 0;
    size_t mix = 0;
    bool operator<(const Offer& other) const {
      return std::pair(gain, other.mix) < std::pair(other.gain, mix);
    }
  };

  // The most suitable members that the mix can have; empty when there are not enough left.
  static Group members_of(const Mix& mix, const Heads& heads) {
    Group out;
    size_t again = 0;  // how many of this kind are in the group
    for (size_t i = 0; i < mix.kinds.size(); ++i) {
      again = i > 0 && mix.kinds[i] == mix.kinds[i - 1] ? again + 1 : 0;
      const std::vector<size_t>& line = heads.at(mix.kinds[i]);
      if (line.size() <= again) return {};
      out.push_back(line[line.size() - 1 - again]);
    }
    return out;
  }

  int64_t worth(const Mix& mix, const Group& group) const {
    int64_t out = 0;
    for (size_t i = 0; i < group.size(); ++i) out += values_[group[i]] * mix.speeds[i] / kFullSpeed;
    return out;
  }

  int64_t gain(const Mix& mix, const Group& group, int64_t cost) const {
    if (group.empty()) return 0;
    int64_t out = worth(mix, group) - cost;
    for (size_t member : group) out -= std::max<int64_t>(0, values_[member] - cost);
    return out;
  }

  void trade(const Pool& pool, int64_t price, const std::vector<bool>& taken,
             std::vector<Deal>& out) const {
    int64_t cost = price * pool.devices;
    Heads heads;
    // A group gains most by members whose value is about what their devices cost: who is worth more
    // loses by turns what it would have alone, who is worth less brings less.
    for (const auto& [kind, members] : pool.of_kind) {
      std::vector<size_t>& line = heads[kind];
      std::copy_if(members.begin(), members.end(), std::back_inserter(line),
                   [&](size_t member) { return !taken[member]; });
      std::stable_sort(line.begin(), line.end(), [&](size_t a, size_t b) {
        return std::abs(values_[a] - cost) > std::abs(values_[b] - cost);
      });
    }
    std::priority_queue<Offer> offers;
    for (size_t i = 0; i < pool.mixes.size(); ++i)
      if (int64_t g = gain(pool.mixes[i], members_of(pool.mixes[i], heads), cost); g > 0)
        offers.push({g, i});
    while (!offers.empty()) {
      Offer offer = offers.top();
      offers.pop();
      const Mix& mix = pool.mixes[offer.mix];
      Group group = members_of(mix, heads);
      int64_t now = gain(mix, group, cost);  // less than when it was offered if others took members
      if (now <= 0) continue;
      if (now < offer.gain) {
        offers.push({now, offer.mix});
        continue;
      }
      for (size_t kind : mix.kinds) heads[kind].pop_back();
      out.push_back({group, worth(mix, group), pool.devices});
      offers.push(offer);
    }
    for (const auto& [kind, line] : heads)
      for (size_t member : line)
        if (values_[member] > cost) out.push_back({{member}, values_[member], pool.devices});
  }

  std::vector<int64_t> values_;
  std::vector<Pool> pools_;
};

int64_t devices_of(const std::vector<Market::Deal>& deals) {
  int64_t out = 0;
  for (const Market::Deal& deal : deals) out += deal.devices;
  return out;
}

// Takes the deals of the most worth for each device as far as they fit.
void take(std::vector<Market::Deal> deals, int64_t& free, std::vector<bool>& taken,
          std::vector<Group>& out) {
  std::stable_sort(deals.begin(), deals.end(), [](const Market::Deal& a, const Market::Deal& b) {
    return a.worth / a.devices > b.worth / b.devices;
  });
  for (Market::Deal& deal : deals) {
    if (deal.devices > free) continue;
    free -= deal.devices;
    for (size_t member : deal.group) taken[member] = true;
    out.push_back(std::move(deal.group));
  }
}

}  // namespace

std::vector<Group> grouped(std::span<const Sharer> sharers, int64_t capacity,
                           const Speeds& speeds) {
  std::vector<Group> out;
  int64_t all = 0;
  for (const Sharer& sharer : sharers) all += sharer.devices;
  if (all <= capacity) {
    for (size_t i = 0; i < sharers.size(); ++i) out.push_back({i});
    return out;
  }
  Market market(sharers, speeds);
  std::vector<bool> taken(sharers.size());
  Log low{0}, high{(kTopValue + 2) << 16};
  for (int step = 0; step < kPriceSteps; ++step) {
    Log middle{(low.q16 + high.q16) / 2};
    (devices_of(market.wanted(exp_of(middle), taken)) > capacity ? low : high) = middle;
  }
  int64_t free = capacity;
  take(market.wanted(exp_of(high), taken), free, taken, out);
  // The rest is shared out at lower and lower prices, so that groups form as they would have.
  for (Log price = high; free > 0 && price.q16 > 0;) {
    price = price - kLogOf2;
    take(market.wanted(exp_of(price), taken), free, taken, out);
  }
  return out;
}

}  // namespace tessera::sched
