#include "server/gate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/text.h"

namespace tessera::server {
namespace {

namespace routes = api::routes;

constexpr uint32_t kNobody = 65534;  // the account is called "nobody" on every Linux
constexpr uint32_t kGroup = 4711;

class GateTest : public testing::Test {
 protected:
  void add_user(const std::string& name, api::UserSpec spec = {}) {
    state_.users[name].metadata.name = name;
    state_.users[name].spec = std::move(spec);
  }
  void add_token(const std::string& text, const std::string& user,
                 std::optional<Instant> expires = std::nullopt) {
    api::Token& token = state_.tokens["token-" + user];
    token.metadata.name = "token-" + user;
    token.spec.user = user;
    token.spec.expires = expires;
    token.status.hash = to_hex(sha256(text));
  }
  Result<Identity> ask(const net::Peer& peer, const std::string& authorization = {},
                       const api::RouteInfo& route = routes::kWhoAmI) {
    View::Publication publication{.entries = {},
                                  .gone = {},
                                  .sequence = ++sequence_,
                                  .accounts = std::make_shared<const Accounts>(state_)};
    view_.publish(std::move(publication));
    net::Request request;
    if (!authorization.empty()) request.headers.add("Authorization", authorization);
    return gate_.admit(route, request, peer, "p");
  }
  static net::Peer remote(std::string address = "192.0.2.7") {
    net::Peer peer;
    peer.address = std::move(address);
    return peer;
  }
  static net::Peer local(uint32_t uid, std::vector<uint32_t> groups = {}) {
    return {uid, 1, 42, std::move(groups), {}};
  }

  core::State state_;
  View view_;
  int64_t sequence_ = 0;
  std::vector<Attempt> recorded_;
  std::vector<std::string> used_;
  Gate gate_{view_,
             {.admin_group = kGroup},
             [this](Attempt attempt) { recorded_.push_back(std::move(attempt)); },
             [this](const std::string& token) { used_.push_back(token); }};
};

TEST_F(GateTest, TheSocketsOwnersAreAdminsAndOthersTheUsersOfTheirName) {
  EXPECT_TRUE(ask(local(0))->owner);
  EXPECT_EQ(ask(local(0))->user, "root");
  EXPECT_TRUE(ask(local(::geteuid()))->owner);
  EXPECT_TRUE(ask(local(kNobody, {5, kGroup}))->owner);
  auto unknown = ask(local(kNobody, {5}));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::kUnauthenticated);
  EXPECT_NE(unknown.error().text().find("'tessera user create nobody'"), std::string::npos);
  add_user("nobody");
  auto known = ask(local(kNobody, {5}));
  ASSERT_TRUE(known.ok()) << known.error().text();
  EXPECT_FALSE(known->owner);
  EXPECT_FALSE(ask(local(kNobody), {}, routes::kListUsers).ok());
}

TEST_F(GateTest, OverTheNetworkOnlyAGoodTokenSignsIn) {
  Instant now = wall_now();
  add_user("ana");
  add_user("wei", {.description = {}, .role = api::ClusterRole::kAdmin, .disabled = true});
  add_user("lin");
  add_token("good", "ana");
  add_token("of-disabled", "wei");
  add_token("old", "lin", now + Millis{-1});
  add_token("of-nobody", "gone");
  struct Case {
    std::string authorization;
    std::string_view part;  // of the refusal
  };
  for (const Case& row :
       {Case{"", "who you are is not known"}, Case{"Bearer wrong", "is not known: it is wrong"},
        Case{"Bearer of-disabled", "is disabled"}, Case{"Bearer old", "expired on"},
        Case{"Bearer of-nobody", "is disabled"}, Case{"Basic good", "Bearer TOKEN"},
        Case{"Bearer ", "Bearer TOKEN"}}) {
    auto caller = ask(remote(), row.authorization);
    ASSERT_FALSE(caller.ok()) << row.authorization;
    EXPECT_EQ(caller.error().code, Code::kUnauthenticated);
    EXPECT_NE(caller.error().text().find(row.part), std::string::npos) << caller.error().text();
  }
  EXPECT_EQ(recorded_.size(), 7u);
  auto ana = ask(remote(), "bearer good");
  ASSERT_TRUE(ana.ok()) << ana.error().text();
  EXPECT_EQ(ana->user, "ana");
  EXPECT_EQ(ana->from, "192.0.2.7, token token-ana");
  EXPECT_EQ(used_, (std::vector<std::string>{"token-ana"}));
  // Someone whom the network told us nothing about is nobody, whatever number he has.
  EXPECT_FALSE(ask(net::Peer{}).ok());
}

TEST_F(GateTest, FailedSignInsAreSlowedDownAndRightOnesFromThereAreNot) {
  add_user("ana");
  add_token("good", "ana");
  for (int64_t i = 0; i < kFailedSignInLimit; ++i)
    EXPECT_EQ(ask(remote(), cat("Bearer w", i)).error().code, Code::kUnauthenticated);
  auto more = ask(remote(), "Bearer w");
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, Code::kExhausted) << more.error().text();
  EXPECT_TRUE(ask(remote(), "Bearer good").ok());
  EXPECT_EQ(ask(remote("192.0.2.8"), "Bearer w").error().code, Code::kUnauthenticated);
  // The same beginning of a token from many addresses counts together.
  std::string tried(kTokenPrefix, 'x');
  for (int64_t i = 0; i < kFailedSignInLimit; ++i)
    (void)ask(remote(cat("198.51.100.", i)), cat("Bearer ", tried, i));
  EXPECT_EQ(ask(remote("203.0.113.1"), cat("Bearer ", tried)).error().code, Code::kExhausted);
}

TEST_F(GateTest, RefusalsAreRecordedAndDoNotFloodTheLog) {
  add_user("ana");
  add_token("good", "ana");
  for (int64_t i = 0; i < 2 * kDenialRowLimit; ++i) {
    auto denied = ask(remote(), "Bearer good", routes::kListAudit);
    ASSERT_FALSE(denied.ok());
    EXPECT_EQ(denied.error().code, Code::kPermissionDenied);
  }
  ASSERT_EQ(recorded_.size(), static_cast<size_t>(kDenialRowLimit));
  EXPECT_EQ(recorded_.front().user, "ana");
  EXPECT_EQ(recorded_.front().action, "listAudit");
  EXPECT_EQ(recorded_.front().refusal->code, Code::kPermissionDenied);
}

}  // namespace
}  // namespace tessera::server
