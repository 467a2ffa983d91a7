#include "core/sched/order/order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>

namespace tessera::sched {

namespace {

// Exponents of the number of devices that are tried, in thousandths.
constexpr std::array<int64_t, 6> kExponents = {0, 250, 500, 750, 1000, 1250};

}  // namespace

JobOrder ranked(std::span<const Contender> contenders, std::span<const Log> keys) {
  JobOrder out(contenders.size());
  std::iota(out.begin(), out.end(), size_t{0});
  std::stable_sort(out.begin(), out.end(), [&](size_t a, size_t b) {
    return std::pair(keys[a], !contenders[a].running) < std::pair(keys[b], !contenders[b].running);
  });
  return out;
}

JobOrder admitted(std::span<const Contender> contenders, const JobOrder& ranking,
                  int64_t capacity) {
  JobOrder out;
  for (size_t at : ranking) {
    if (capacity <= 0) break;
    if (contenders[at].devices > capacity) continue;
    capacity -= contenders[at].devices;
    out.push_back(at);
  }
  return out;
}

int64_t completion_sum(std::span<const Contender> contenders, const JobOrder& ranking,
                       int64_t capacity) {
  struct Left {
    int64_t devices, ms;
  };
  std::vector<Left> queue;
  for (size_t at : ranking) queue.push_back({contenders[at].devices, contenders[at].remaining_ms});
  int64_t now = 0, sum = 0;
  std::vector<size_t> serving;
  while (!queue.empty()) {
    // As admitted() does; most of a long queue is not looked at.
    serving.clear();
    int64_t free = capacity, span = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < queue.size() && free > 0; ++i) {
      if (queue[i].devices > free) continue;
      free -= queue[i].devices;
      serving.push_back(i);
      span = std::min(span, queue[i].ms);
    }
    if (serving.empty()) break;  // larger than the capacity
    now += span;
    for (size_t i = serving.size(); i-- > 0;) {
      Left& left = queue[serving[i]];
      if ((left.ms -= span) > 0) continue;
      sum += now;
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(serving[i]));
    }
  }
  return sum;
}

namespace {

// Of each size the first that is not among those served now: its place in the ranking.
std::map<int64_t, size_t> first_waiting(std::span<const Contender> contenders,
                                        const JobOrder& ranking, int64_t capacity) {
  std::vector<bool> served(contenders.size());
  for (size_t at : admitted(contenders, ranking, capacity)) served[at] = true;
  std::map<int64_t, size_t> out;
  for (size_t place = 0; place < ranking.size(); ++place)
    if (!served[ranking[place]]) out.emplace(contenders[ranking[place]].devices, place);
  return out;
}

// Moves single jobs ahead, to the front or a part of the way, as long as that lessens the sum. Keys
// alone do not see when the devices that a large job needs come free together.
void improve(std::span<const Contender> contenders, int64_t capacity, JobOrder& best,
             int64_t least) {
  while (true) {
    JobOrder found;
    for (auto [devices, place] : first_waiting(contenders, best, capacity)) {
      for (size_t target : {size_t{0}, place / 4, place / 2}) {
        JobOrder trial = best;
        trial.erase(trial.begin() + static_cast<std::ptrdiff_t>(place));
        trial.insert(trial.begin() + static_cast<std::ptrdiff_t>(target), best[place]);
        int64_t sum = completion_sum(contenders, trial, capacity);
        if (sum >= least) continue;
        least = sum;
        found = std::move(trial);
      }
    }
    if (found.empty()) return;
    best = std::move(found);
  }
}

}  // namespace

JobOrder by_remaining(std::span<const Contender> contenders, int64_t capacity) {
  JobOrder best;
  int64_t least = std::numeric_limits<int64_t>::max();
  std::vector<Log> keys(contenders.size());
  for (int64_t exponent : kExponents) {
    std::transform(contenders.begin(), contenders.end(), keys.begin(), [&](const Contender& c) {
      return log_of(c.remaining_ms) + log_of(c.devices).power(exponent);
    });
    JobOrder order = ranked(contenders, keys);
    int64_t sum = completion_sum(contenders, order, capacity);
    if (sum >= least) continue;
    least = sum;
    best = std::move(order);
  }
  improve(contenders, capacity, best, least);
  return best;
}

JobOrder by_index(std::span<const Contender> contenders, std::span<const Log> indices, Log stay) {
  std::vector<Log> keys(contenders.size());
  for (size_t i = 0; i < contenders.size(); ++i)
    keys[i] = log_of(contenders[i].devices) - indices[i] - (contenders[i].running ? stay : Log{});
  return ranked(contenders, keys);
}

}  // namespace tessera::sched
