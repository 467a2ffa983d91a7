#include "server/control.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/crypto.h"
#include "base/file.h"
#include "base/text.h"
#include "server/encode.h"

namespace tessera::server {
namespace {

// A control loop on a store that outlives it.
class ControlTest : public ::testing::Test {
 protected:
  void SetUp() override { restart(); }
  void restart(SecretBox box = SecretBox::of_this_run()) {
    Status loaded = load(std::move(box));
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  }
  Status load(SecretBox box) {
    control_.reset();
    control_ = std::make_unique<Control>(*store_, std::move(box), sched::Policy{});
    TRY(TickResult loaded, control_->load(now_));
    sequence_ = loaded.publication.sequence;
    return Ok;
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

  static core::CreateSecret secret(const std::string& name, const std::string& value) {
    api::Secret secret;
    secret.metadata.name = name;
    secret.metadata.project = "default";
    secret.data = {{"value", value}};
    return {secret};
  }
  std::string stored_secret() {
    auto loaded = store_->load();
    CHECK(loaded.ok());
    for (const store::Document& document : loaded->documents)
      if (document.kind == core::kSecretKind) return document.body;
    return {};
  }

  std::unique_ptr<store::Store> store_ = store::open_memory().value();
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

// --- Secrets at rest ---------------------------------------------------------------------------

class SecretsTest : public ControlTest {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "tessera-secrets-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    restart(box());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string key_file() const { return folder_ + "/secrets.key"; }
  SecretBox box() {
    auto loaded = SecretBox::load(key_file());
    CHECK(loaded.ok());
    return std::move(*loaded);
  }

  std::string folder_;
};

TEST_F(SecretsTest, LieSealedInTheStoreAndComeBack) {
  tick({secret("s", "hunter2")});
  EXPECT_TRUE(SecretBox::is_sealed(stored_secret()));
  EXPECT_EQ(stored_secret().find("hunter2"), std::string::npos);
  EXPECT_EQ(stored_secret().find("value"), std::string::npos);
  struct stat found;
  ASSERT_EQ(::stat(key_file().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  restart(box());
  EXPECT_EQ(control_->state().secrets.at("default/s").data.at("value"), "hunter2");
}

TEST_F(SecretsTest, OfBeforeThereWasSealingAreSealedAtTheNextStart) {
  tick({secret("s", "hunter2")});
  api::Secret clear = control_->state().secrets.at("default/s");
  std::string body = wire::to_json(full_tree(clear));
  ASSERT_TRUE(store_
                  ->commit({.put = {{std::string(core::kSecretKind), "default/s",
                                     clear.metadata.resourceVersion, body}}})
                  .ok());
  ASSERT_NE(stored_secret().find("hunter2"), std::string::npos);
  restart(box());
  EXPECT_TRUE(SecretBox::is_sealed(stored_secret()));
  EXPECT_EQ(control_->state().secrets.at("default/s").data.at("value"), "hunter2");
}

TEST_F(SecretsTest, WithoutTheirKeyOrWithAnotherTheServerDoesNotStart) {
  tick({secret("s", "hunter2")});
  std::string key = read_file(key_file()).value();
  struct Case {
    std::string content;  // empty: no file
    std::string_view part;
  };
  std::string other(kSealKeyBytes * 2, 'a');
  for (const Case& row : {Case{"", "is missing (restore it from a backup"},
                          Case{other, "are sealed with another key than the one in"}}) {
    std::filesystem::remove(key_file());
    if (!row.content.empty()) {
      ASSERT_TRUE(write_file(key_file(), row.content).ok());
    }
    Status loaded = load(box());
    ASSERT_FALSE(loaded.ok());
    EXPECT_NE(loaded.error().text().find(row.part), std::string::npos) << loaded.error().text();
    EXPECT_EQ(exists(key_file()), !row.content.empty()) << "a new key would hide the loss";
  }
  ASSERT_TRUE(write_file(key_file(), "rubbish").ok());
  EXPECT_NE(SecretBox::load(key_file()).error().message.find("holds no key"), std::string::npos);
  ASSERT_TRUE(write_file(key_file(), key).ok());
  restart(box());
}

// --- The audit log -----------------------------------------------------------------------------

TEST_F(ControlTest, AttemptsAreLoggedWithTheirResultInTheSameCommit) {
  auto attempt = [](std::string action) {
    return Attempt{.user = "ana", .from = "192.0.2.7", .action = std::move(action), .object = {}};
  };
  std::vector<Inbound> inbound = {{create("a", "1"), {}, attempt("createJob")},
                                  {create("a", "2"), {}, attempt("createJob")},
                                  {core::Tick{},
                                   {},
                                   Attempt{.user = {},
                                           .from = "192.0.2.8",
                                           .action = "listJobs",
                                           .object = "/x",
                                           .routine = false,
                                           .refusal = error(Code::kUnauthenticated, "who?")}}};
  ASSERT_TRUE(control_->tick(inbound, now_).ok());
  restart();
  ASSERT_TRUE(
      control_->tick(std::vector<Inbound>{{create("b", "3"), {}, attempt("createJob")}}, now_)
          .ok());
  auto rows = control_->audit({});
  ASSERT_TRUE(rows.ok());
  std::vector<std::string> seen;
  for (const store::AuditRow& row : *rows)
    seen.push_back(cat(row.seq, " ", row.user, " ", row.action, " ", row.object, " ", row.result));
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "4 ana createJob default/b ok", "3  listJobs /x unauthenticated",
                      "2 ana createJob default/a already_exists", "1 ana createJob default/a ok"}));
}

}  // namespace
}  // namespace tessera::server
