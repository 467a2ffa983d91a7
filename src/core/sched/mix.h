#pragma once
// What jobs are likely to come: the classes of demands among those that came so far. Placement is
// good when what it leaves free suits them (scores/fragmentation.cc).

#include <map>

#include "core/sched/cluster.h"

namespace tessera::sched {

inline constexpr int64_t kPpm = 1'000'000;  // weights are parts in a million

struct Mix {
  struct Class {
    std::optional<MilliCpu> cpus;  // empty: the fair part, which never runs out before the devices
    int64_t devices = 0;
    std::vector<int64_t> milli;  // of each device, by kind; 0: the kind will not do
    int64_t weight = 0;
  };
  // How much CPU goes with a device: cpus to milli thousandths of one.
  struct Ratio {
    int64_t cpus = 0;
    int64_t milli = 0;
    int64_t weight = 0;
  };
  std::vector<Class> classes;
  std::vector<Ratio> ratios;
  uint64_t version = 0;
};

// Counts what arrives. The mix is made anew only now and then, since that changes what every node
// is worth: after half as many arrivals again, and at most 2,000 later.
class Arrivals {
 public:
  // True: it is time to make the mix anew.
  bool add(const Demand& demand, int64_t tasks);
  // As of the last time; what Arrivals of a snapshot starts with.
  const std::vector<Arrival>& known() const { return known_; }
  void restore(std::vector<Arrival> known);

 private:
  std::map<Demand, int64_t, DemandLess> counts_;
  std::vector<Arrival> known_;
  int64_t total_ = 0;
  int64_t next_ = 1;
};

Mix make_mix(std::span<const Arrival> arrivals, const std::vector<Kind>& kinds);

}  // namespace tessera::sched
