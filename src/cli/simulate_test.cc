#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/simulate_report.h"

namespace tessera::cli {
namespace {

TEST(SimulationReport, HasEverythingInItself) {
  simulate::Submission job{.name = "a", .project = "</script>", .runs = Millis{1000}};
  Simulated run{.policy = "pack"};
  run.outcome.capacity = MilliGpu{4000};
  run.outcome.fates = {{&job, Millis{0}, Millis{1000}}};
  for (int64_t i = 0; i < 10'000; ++i)
    run.outcome.samples.push_back(
        {.at = Millis{i * 3'600'000}, .used = MilliGpu{1000}, .waiting = i, .fragmented = 3});
  run.summary = simulate::summarise(run.outcome);
  std::string page = simulation_report({run}, "WAIT <1>");
  EXPECT_NE(page.find("WAIT &lt;1&gt;"), std::string::npos);
  EXPECT_NE(page.find("new Dygraph("), std::string::npos);
  EXPECT_NE(page.find("Waiting jobs by project, pack"), std::string::npos);
  EXPECT_NE(page.find("[9999.0,9999]"), std::string::npos);  // the last of the samples
  EXPECT_NE(page.find("<\\/script>"), std::string::npos);
  EXPECT_EQ(page.find("<script src"), std::string::npos);
  EXPECT_EQ(page.find("<link"), std::string::npos);
  EXPECT_LT(page.size(), size_t{400'000});  // samples are thinned
}

}  // namespace
}  // namespace tessera::cli
