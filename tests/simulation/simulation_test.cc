// Runs the simulation with many seeds, and with planted bugs.
//
//   simulation_test [--seed N] [--runs M] [--jobs J] [--steps K] [--bug NAME] [--lines L]
//
// --runs are seeds from N on, --jobs of them at a time; --lines is how much of what was done is
// printed. A hundred thousand: simulation_test --runs 100000 --jobs 2

#include "simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera::simulation {
namespace {

// Few enough for the tests that run before each commit; the slow test has its own number.
uint64_t first_seed = 1;
int64_t runs = 400;
int64_t jobs = 1;
Options common;
bool only_seeds = false;  // a person looks for something: no other test runs

// Of many seeds, on several threads.
class Campaign {
 public:
  void run() {
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < jobs; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
  }
  // The first one that went wrong, for a person; empty when all went well.
  const std::string& failure() const { return failure_; }
  std::string summary() const {
    int64_t ms = std::max<int64_t>(1, (monotonic_ns() - begin_) / 1'000'000);
    return cat(runs, " runs in ", ms / 1000, " s, ", runs * 1000 / ms, " a second: ", sum_.ticks,
               " ticks, ", sum_.crashes, " crashes, ", sum_.jobs, " jobs, ", sum_.starts,
               " containers");
  }

 private:
  void work() {
    for (int64_t i = next_++; i < runs; i = next_++) {
      Options options = common;
      options.seed = first_seed + static_cast<uint64_t>(i);
      Report report = Simulation(options).run();
      std::lock_guard lock(mutex_);
      if (!failure_.empty()) return;
      if (!report.violations.empty()) failure_ = describe(report);
      sum_.ticks += report.ticks;
      sum_.crashes += report.crashes;
      sum_.jobs += report.jobs;
      sum_.starts += report.starts;
    }
  }

  const int64_t begin_ = monotonic_ns();
  std::atomic<int64_t> next_ = 0;
  std::mutex mutex_;
  Report sum_;
  std::string failure_;
};

TEST(Simulation, EveryPromiseIsKept) {
  Campaign campaign;
  campaign.run();
  ASSERT_TRUE(campaign.failure().empty()) << campaign.failure();
  std::printf("%s\n", campaign.summary().c_str());
}

TEST(Simulation, TheSameSeedGivesTheSameHistory) {
  if (only_seeds) GTEST_SKIP();
  for (uint64_t seed : {3, 4, 5})
    EXPECT_EQ(Simulation({.seed = seed}).run().digest, Simulation({.seed = seed}).run().digest);
  EXPECT_NE(Simulation({.seed = 3}).run().digest, Simulation({.seed = 4}).run().digest);
}

// A check that cannot fail is worth nothing.
TEST(Simulation, PlantedBugsAreFound) {
  if (only_seeds) GTEST_SKIP();
  constexpr uint64_t kSeeds = 1'000;
  for (size_t bug = 1; bug < enum_names(Bug{}).size(); ++bug) {
    Options options = {.bug = static_cast<Bug>(bug)};
    std::vector<std::string> found;
    for (; options.seed <= kSeeds && found.empty(); ++options.seed)
      found = Simulation(options).run().violations;
    EXPECT_FALSE(found.empty()) << enum_names(Bug{})[bug] << " was not noticed in " << kSeeds
                                << " runs";
    if (!found.empty())
      std::printf("%s: seed %llu: %s\n", std::string(enum_names(Bug{})[bug]).c_str(),
                  static_cast<unsigned long long>(options.seed - 1), found[0].c_str());
  }
}

std::optional<Bug> bug_named(std::string_view name) {
  for (size_t i = 0; i < enum_names(Bug{}).size(); ++i)
    if (enum_names(Bug{})[i] == name) return static_cast<Bug>(i);
  return std::nullopt;
}

bool read_option(std::string_view name, const std::string& value) {
  auto number = to_int(value);
  if (name == "--bug") {
    auto bug = bug_named(value);
    if (bug) common.bug = *bug;
    return bug.has_value();
  }
  if (!number || *number < 0) return false;
  if (name == "--seed") first_seed = static_cast<uint64_t>(*number);
  if (name == "--runs") runs = *number;
  if (name == "--jobs") jobs = *number;
  if (name == "--steps") common.steps = static_cast<int>(*number);
  if (name == "--lines") common.lines = static_cast<size_t>(*number);
  static constexpr std::string_view kNames[] = {"--seed", "--runs", "--jobs", "--steps", "--lines"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace
}  // namespace tessera::simulation

int main(int argc, char** argv) {
  namespace sim = tessera::simulation;
  testing::InitGoogleTest(&argc, argv);
  tessera::log::set_level(tessera::log::Level::kOff);
  for (int i = 1; i < argc; i += 2) {
    sim::only_seeds = true;
    if (i + 1 < argc && sim::read_option(argv[i], argv[i + 1])) continue;
    std::fprintf(stderr, "%s: cannot be understood\n", argv[i]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
