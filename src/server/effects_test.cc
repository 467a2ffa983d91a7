#include "server/effects.h"

#include <gtest/gtest.h>

namespace tessera::server {
namespace {

using What = core::Effect::What;

TEST(Effects, WhatAnAnswerMeans) {
  struct Case {
    What what;
    std::optional<Code> code;
    Millis waited;
    bool over;
    bool start_failed;
  };
  const Case kCases[] = {
      {What::kEnsure, std::nullopt, {}, true, false},
      {What::kEnsure, Code::kUnavailable, {}, false, false},
      {What::kEnsure, Code::kTimeout, {kStartPatience.value - 1}, false, false},
      {What::kEnsure, Code::kTimeout, kStartPatience, true, true},
      {What::kEnsure, Code::kNotFound, {}, true, true},  // a secret is missing
      {What::kEnsure, Code::kConflict, {}, true, false},
      {What::kStop, Code::kUnavailable, kStartPatience, false, false},
      {What::kSignal, Code::kUnavailable, {}, true, false},
      {What::kRemove, Code::kInternal, kStartPatience, false, false},
      // Carried out again after a crash, when a newer attempt has taken its place.
      {What::kRemove, Code::kConflict, {}, true, false},
      {What::kStop, Code::kConflict, {}, true, false},
      {What::kRemoveLogs, Code::kNotFound, {}, true, false}};
  for (const Case& row : kCases) {
    core::Effect effect{.id = 1, .what = row.what, .task = "a-0", .attempt = 1};
    Status status = Ok;
    if (row.code) status = error(*row.code, "no");
    Verdict verdict = judge(effect, {.status = status}, row.waited);
    std::string name(enum_names(row.what)[static_cast<size_t>(row.what)]);
    EXPECT_EQ(verdict.over, row.over) << name;
    EXPECT_EQ(verdict.observation.has_value(), row.start_failed) << name;
  }
}

TEST(Effects, ADeviceThatIsNotReadyFailsTheStartAtOnce) {
  core::Effect effect{.id = 1, .what = What::kEnsure, .task = "a-0", .attempt = 1};
  Verdict verdict = judge(effect,
                          {.status = error(Code::kUnavailable, "no device node"),
                           .reason = api::Reason::kAcceleratorFault},
                          {});
  ASSERT_TRUE(verdict.observation.has_value());
  EXPECT_EQ(std::get<core::TaskStartFailed>(*verdict.observation).reason,
            api::Reason::kAcceleratorFault);
}

TEST(Effects, WaitsGrowUpToALimit) {
  Patience patience;
  EXPECT_EQ(patience.take_next(), kFirstRetry);
  EXPECT_EQ(patience.take_next(), kFirstRetry * 2);
  for (int i = 0; i < 10; ++i) patience.take_next();
  EXPECT_EQ(patience.take_next(), kLongestRetry);
}

}  // namespace
}  // namespace tessera::server
