#include "server/control.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::server {
namespace {

// A control loop on a disk that outlives it.
class ControlTest : public ::testing::Test {
 protected:
  void SetUp() override { restart(); }
  void restart() {
    control_.reset();
    auto opened = disk_.open();
    ASSERT_TRUE(opened.ok());
    store_ = std::move(*opened);
    control_ = std::make_unique<Control>(*store_, sched::Policy{}, 1);
    auto loaded = control_->load(now_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    sequence_ = loaded->publication.sequence;
  }
  View::Publication tick(const std::vector<core::Command>& commands) {
    std::vector<Inbound> inbound;
    for (const core::Command& command : commands) inbound.push_back({command, {}});
    auto result = control_->tick(inbound, now_);
    CHECK(result.ok());
    for (const auto& reply : result->replies) EXPECT_TRUE(reply.ok());
    return std::move(result->publication);
  }
  static core::CreateJob create(const std::string& name, const std::string& uid) {
    api::Job job;
    job.metadata.name = name;
    job.metadata.project = "default";
    job.metadata.uid = uid;
    job.spec.image = "image";
    return {job};
  }

  store::MemoryDisk disk_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Control> control_;
  Instant now_{1'000'000};
  int64_t sequence_ = 0;  // of what load() published
};

TEST_F(ControlTest, ANameGivenUpAndTakenInOneTickIsKept) {
  tick({create("a", "first")});
  View::Publication published = tick({core::DeleteJob{"default", "a", 0}, create("a", "second")});
  auto is_job = [](const auto& pair) { return pair.first == core::kJobKind; };
  EXPECT_TRUE(std::ranges::any_of(published.gone, is_job));  // readers see both, in this order
  EXPECT_TRUE(std::ranges::any_of(published.entries,
                                  [](const Entry& entry) { return entry.key == "default/a"; }));
  restart();
  EXPECT_EQ(control_->state().jobs.at("default/a").metadata.uid, "second");
  EXPECT_TRUE(control_->state().tasks.contains("second-0"));
  EXPECT_FALSE(control_->state().tasks.contains("first-0"));
}

// Else a reader who watches on from the last number that it saw would miss what comes first.
TEST_F(ControlTest, NumbersOfPublicationsDoNotGoBackOverARestart) {
  int64_t last = tick({create("a", "a"), create("b", "b")}).sequence;
  EXPECT_GT(last, sequence_);
  restart();
  EXPECT_EQ(sequence_, last);
  EXPECT_GT(tick({create("c", "c")}).sequence, last);
}

}  // namespace
}  // namespace tessera::server
