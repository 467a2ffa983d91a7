// Runs the simulation with many seeds, and with planted bugs.
//
//   simulation_test [--seed N] [--runs M] [--steps K] [--bug NAME] [--lines L]
//
// --runs are seeds from N on, --lines is how much of what was done is printed; also as
// TESSERA_SIM_SEED and TESSERA_SIM_RUNS.

#include "simulation.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/log.h"
#include "base/text.h"

namespace tessera::simulation {
namespace {

// Few enough for the tests that run before each commit; the slow test has its own number.
uint64_t first_seed = 1;
int64_t runs = 100;
Options common;
bool only_seeds = false;  // a person looks for something: no other test runs

TEST(Simulation, EveryPromiseIsKept) {
  int64_t ticks = 0, crashes = 0, jobs = 0, starts = 0;
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(runs); ++seed) {
    Options options = common;
    options.seed = seed;
    Report report = Simulation(options).run();
    ASSERT_TRUE(report.violations.empty()) << describe(report);
    ticks += report.ticks;
    crashes += report.crashes;
    jobs += report.jobs;
    starts += report.starts;
  }
  std::printf("%lld runs: %lld ticks, %lld crashes, %lld jobs, %lld containers\n",
              static_cast<long long>(runs), static_cast<long long>(ticks),
              static_cast<long long>(crashes), static_cast<long long>(jobs),
              static_cast<long long>(starts));
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
  constexpr uint64_t kSeeds = 120;
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
  if (name == "--steps") common.steps = static_cast<int>(*number);
  if (name == "--lines") common.lines = static_cast<size_t>(*number);
  return name == "--seed" || name == "--runs" || name == "--steps" || name == "--lines";
}

}  // namespace
}  // namespace tessera::simulation

int main(int argc, char** argv) {
  namespace sim = tessera::simulation;
  testing::InitGoogleTest(&argc, argv);
  tessera::log::set_level(tessera::log::Level::kOff);
  constexpr std::pair<const char*, const char*> kVariables[] = {{"TESSERA_SIM_SEED", "--seed"},
                                                                {"TESSERA_SIM_RUNS", "--runs"}};
  for (const auto& [variable, option] : kVariables)
    if (const char* value = std::getenv(variable)) sim::read_option(option, value);
  for (int i = 1; i < argc; i += 2) {
    sim::only_seeds = true;
    if (i + 1 < argc && sim::read_option(argv[i], argv[i + 1])) continue;
    std::fprintf(stderr, "%s: cannot be understood\n", argv[i]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
