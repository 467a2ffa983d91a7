#include <gtest/gtest.h>

#include "fixture.h"

namespace tessera::local {

namespace {

class LocalConformance : public testing::TestWithParam<engine::ConformanceCase> {};

TEST_P(LocalConformance, Holds) {
  if (auto missing = Setting::missing(); !missing.empty()) GTEST_SKIP() << missing;
  LocalFixture fixture;
  GetParam().run(fixture);
}

INSTANTIATE_TEST_SUITE_P(Engine, LocalConformance,
                         testing::ValuesIn(engine::conformance_cases().begin(),
                                           engine::conformance_cases().end()),
                         engine::case_name<testing::TestParamInfo<engine::ConformanceCase>>);

}  // namespace

}  // namespace tessera::local
