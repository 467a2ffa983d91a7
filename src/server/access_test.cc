// Who may do what, over TLS with real tokens: every route with every role, and what lists show.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "client/client.h"
#include "core/step.h"
#include "engine/sim/sim_engine.h"
#include "server/server.h"

namespace tessera::server {
namespace {

namespace routes = api::routes;
using api::ProjectRole, api::ClusterRole;

class AccessTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tessera-access-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    ServerOptions options{.version = "test",
                          .data_folder = folder_ + "/data",
                          .socket_path = folder_ + "/socket",
                          .socket_mode = {.mode = 0600, .gid = std::nullopt},
                          .listen = {{"127.0.0.1", 0}},
                          .tls_names = {},
                          .openapi = "{}",
                          .policy = {}};
    server_ =
        std::make_unique<Server>(std::move(options), std::make_unique<engine::SimEngine>(world_),
                                 std::vector<std::unique_ptr<accel::Provider>>{});
    Status started = server_->start();
    ASSERT_TRUE(started.ok()) << started.error().text();
    root_ = std::make_unique<client::Client>(folder_ + "/socket");
    target_ = {server_->listens_at().at(0), read_file(folder_ + "/data/tls/ca.pem").value()};
    for (std::string project : {"p", "q"})
      ASSERT_TRUE(
          root_->call(routes::kCreateProject, {}, {}, {.metadata = {.name = project}}).ok());
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Adds a user; their token.
  std::string user(const std::string& name, ClusterRole role = ClusterRole::kNone) {
    api::User made{.metadata = {.name = name}, .spec = {.role = role}};
    EXPECT_TRUE(root_->call(routes::kCreateUser, {}, {}, made).ok());
    return token({.user = name})->token;
  }
  Result<api::IssuedToken> token(const api::TokenSpec& spec) {
    return root_->call(routes::kCreateToken, {}, {}, {.spec = spec});
  }
  void grant(const std::string& project, const std::string& name, ProjectRole role) {
    auto now = root_->call(routes::kGetProject, {{"name", project}});
    now->spec.members[name] = role;
    ASSERT_TRUE(root_->call(routes::kReplaceProject, {{"name", project}}, {}, *now).ok());
  }
  std::unique_ptr<client::Client> as(const std::string& token) {
    return std::make_unique<client::Client>(target_, token);
  }
  static client::PathParams in(const std::string& project, const std::string& name = {}) {
    client::PathParams out{{"project", project}};
    if (!name.empty()) out.emplace_back("name", name);
    return out;
  }
  static api::Job job(const std::string& name) {
    api::Job out;
    out.metadata.name = name;
    out.spec.image = "image";
    out.spec.args = {"loop"};
    return out;
  }

  static engine::SimOptions real_time() {
    engine::SimOptions options;
    options.real_time = true;
    options.start_delay = Millis{1};
    return options;
  }
  std::string folder_;
  engine::SimWorld world_{real_time()};
  std::unique_ptr<Server> server_;
  std::unique_ptr<client::Client> root_;
  net::TlsTarget target_;
};

// One column for each caller: nobody, a user without any role, viewer, member and maintainer of the
// project, operator, admin. '+': gets in.
struct RouteRow {
  std::string_view id;
  std::string_view columns;
};
constexpr RouteRow kRoutes[] = {
    {"healthz", "+++++++"},
    {"readyz", "+++++++"},
    {"openapi", "+++++++"},
    {"version", "+++++++"},
    {"listAllJobs", "-++++++"},
    {"listJobs", "--+++++"},
    {"createJob", "---++++"},
    {"getJob", "--+++++"},
    {"replaceJob", "---++++"},
    {"patchJob", "---++++"},
    {"deleteJob", "---++++"},
    {"stopJob", "---++++"},
    {"signalJob", "---++++"},
    {"listTasks", "--+++++"},
    {"whyJob", "--+++++"},
    {"jobLogs", "--+++++"},
    {"execJob", "---++++"},
    {"attachJob", "---++++"},
    {"jobFiles", "---++++"},
    {"forwardPort", "---++++"},
    {"listAllEvents", "-++++++"},
    {"listEvents", "--+++++"},
    {"listSecrets", "----+-+"},
    {"createSecret", "----+-+"},
    {"getSecret", "----+-+"},
    {"replaceSecret", "----+-+"},
    {"deleteSecret", "----+-+"},
    {"listProjects", "-++++++"},
    {"createProject", "------+"},
    {"getProject", "--+++++"},
    {"replaceProject", "----+-+"},
    {"deleteProject", "------+"},
    {"whoAmI", "-++++++"},
    {"listUsers", "------+"},
    {"createUser", "------+"},
    {"getUser", "------+"},
    {"replaceUser", "------+"},
    {"deleteUser", "------+"},
    {"listTokens", "-++++++"},
    {"createToken", "-++++++"},
    {"getToken", "-++++++"},
    {"deleteToken", "-++++++"},
    {"listAudit", "------+"},
    {"listNodes", "-++++++"},
    {"getNode", "-++++++"},
    {"patchNode", "-----++"},
    {"listAccelerators", "-++++++"},
    {"getAccelerator", "-++++++"},
    {"listImages", "-++++++"},
    {"top", "-++++++"},
    {"usage", "-++++++"},
    {"pullImage", "-----++"},
    {"importImage", "-----++"},
    {"deleteImage", "-----++"},
    {"buildImage", "-----++"},
    {"inspectImage", "-++++++"},
    {"pruneImages", "-----++"},
};

std::string_view columns_of(std::string_view id) {
  for (const RouteRow& row : kRoutes)
    if (row.id == id) return row.columns;
  return {};
}

// Gets past the gate and no further: nothing of these names is there, and no body has this field.
net::Request probe(const api::RouteInfo& route, const std::string& token) {
  net::Request request;
  request.method = std::string(enum_names(route.method)[static_cast<size_t>(route.method)]);
  request.path = replace_all(route.path, "{project}", "p");
  bool project = route.path.starts_with("/api/v1/projects/{name}");
  request.path = replace_all(request.path, "{name}", project ? "p" : "none");
  if (!token.empty()) request.headers.add("Authorization", "Bearer " + token);
  request.body = R"({"bogus": 1})";
  return request;
}

TEST_F(AccessTest, EveryRouteLetsInTheRolesOfTheTableAndNoOthers) {
  std::vector<std::string> tokens = {"",
                                     user("none"),
                                     user("viewer"),
                                     user("member"),
                                     user("maintainer"),
                                     user("operator", ClusterRole::kOperator),
                                     user("admin", ClusterRole::kAdmin)};
  for (ProjectRole role : {ProjectRole::kViewer, ProjectRole::kMember, ProjectRole::kMaintainer})
    grant("p", std::string(enum_names(role)[static_cast<size_t>(role)]), role);
  net::Client http(target_);
  for (size_t column = 0; column < tokens.size(); ++column) {
    for (const api::RouteInfo* route : routes::kAll) {
      std::string_view columns = columns_of(route->id);
      ASSERT_EQ(columns.size(), tokens.size()) << route->id << " needs a row here";
      auto answer = http.request(probe(*route, tokens[column]));
      ASSERT_TRUE(answer.ok()) << answer.error().text();
      int refused = column == 0 ? 401 : 403;
      EXPECT_EQ(answer->status == refused, columns[column] == '-')
          << route->id << ", column " << column << ": " << answer->status << " " << answer->body;
      EXPECT_LT(answer->status, 500) << route->id << ": " << answer->body;
    }
  }
}

TEST_F(AccessTest, ListsShowWhatTheCallerMaySee) {
  auto ana = as(user("ana")), boss = as(user("boss", ClusterRole::kOperator));
  grant("p", "ana", ProjectRole::kViewer);
  for (std::string project : {"p", "q"})
    ASSERT_TRUE(root_->call(routes::kCreateJob, in(project), {}, job("in-" + project)).ok());
  auto names = [](const auto& list) {
    std::vector<std::string> out;
    for (const auto& item : list.items) out.push_back(item.metadata.name);
    return out;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(*ana->call(routes::kListAllJobs)), Names{"in-p"});
  EXPECT_EQ(names(*ana->call(routes::kListProjects)), Names{"p"});
  EXPECT_EQ(names(*boss->call(routes::kListAllJobs)), (Names{"in-p", "in-q"}));
  EXPECT_EQ(names(*boss->call(routes::kListProjects)), (Names{"default", "p", "q"}));
  auto events = ana->call(routes::kListAllEvents);
  ASSERT_TRUE(events.ok());
  for (const api::Event& event : events->items) EXPECT_NE(event.metadata.project, "q");
  EXPECT_EQ(ana->call(routes::kListTokens)->items.size(), 1u);
  EXPECT_EQ(root_->call(routes::kListTokens)->items.size(), 2u);
  EXPECT_EQ(ana->call(routes::kListTokens)->items[0].status.hash, "");
  // What is not there and what one may not see look the same.
  auto hidden = ana->call(routes::kListJobs, in("q")), none = ana->call(routes::kListJobs, in("z"));
  EXPECT_EQ(replace_all(hidden.error().text(), "'q'", "''"),
            replace_all(none.error().text(), "'z'", "''"));
  auto me = ana->call(routes::kWhoAmI);
  EXPECT_EQ(me->user, "ana");
  EXPECT_EQ(me->projects, (std::map<std::string, ProjectRole>{{"p", ProjectRole::kViewer}}));
}

TEST_F(AccessTest, AWatchShowsTheSameAndEndsWithTheRightToIt) {
  auto ana = as(user("ana"));
  grant("p", "ana", ProjectRole::kViewer);
  auto create = [&](const std::string& project, const std::string& name) {
    EXPECT_TRUE(root_->call(routes::kCreateJob, in(project), {}, job(name)).ok());
  };
  create("p", "first");
  std::vector<std::string> seen;
  (void)ana->watch<api::Job>(routes::kListAllJobs, {}, {.watch = true},
                             [&](api::Change change, const api::Job& one) {
                               if (change != api::Change::kAdded) return true;
                               seen.push_back(one.metadata.name);
                               if (seen.size() == 1) {
                                 create("q", "hidden");
                                 create("p", "second");
                               } else {
                                 client::PathParams path = {{"name", "ana"}};
                                 EXPECT_TRUE(root_->call(routes::kDeleteUser, path).ok());
                                 create("p", "third");
                               }
                               return true;
                             });
  EXPECT_EQ(seen, (std::vector<std::string>{"first", "second"}));
}

TEST_F(AccessTest, ATokenIsGoodUntilItIsRevokedAndItsUserUntilRemoved) {
  auto ana = as(user("ana"));
  grant("p", "ana", ProjectRole::kMember);
  auto own = ana->call(routes::kCreateToken, {}, {}, {.metadata = {.name = "ci"}});
  ASSERT_TRUE(own.ok()) << own.error().text();
  auto ci = as(own->token);
  EXPECT_TRUE(ci->call(routes::kWhoAmI).ok());
  user("later");  // goes the way that the use went before it
  EXPECT_NE(root_->call(routes::kGetToken, {{"name", "ci"}})->status.lastUsed, std::nullopt);
  ASSERT_TRUE(ana->call(routes::kDeleteToken, {{"name", "ci"}}).ok());
  EXPECT_EQ(ci->call(routes::kWhoAmI).error().code, Code::kUnauthenticated);
  ASSERT_TRUE(root_->call(routes::kDeleteUser, {{"name", "ana"}}).ok());
  EXPECT_EQ(ana->call(routes::kWhoAmI).error().code, Code::kUnauthenticated);
  auto again = as(user("ana"));
  EXPECT_TRUE(again->call(routes::kWhoAmI)->projects.empty()) << "the old one's rights came back";
}

TEST_F(AccessTest, ATokenNeitherReachesOthersNorOutlivesTheOneThatMadeIt) {
  user("wei");
  user("ana");
  Instant end = wall_now() + Millis{3'600'000};
  auto ana = as(token({.user = "ana", .expires = end})->token);
  auto create = [&](const api::TokenSpec& spec) {
    return ana->call(routes::kCreateToken, {}, {}, {.spec = spec});
  };
  EXPECT_EQ(create({.user = "wei"}).error().code, Code::kPermissionDenied);
  EXPECT_EQ(create({.expires = end + Millis{1}}).error().field, "spec.expires");
  EXPECT_EQ(create({})->expires, end);
  EXPECT_EQ(create({.expires = Instant{1}}).error().message, "is not in the future");
  auto weis = root_->call(routes::kListTokens, {}, {.fieldSelector = "spec.user=wei"});
  client::PathParams weis_token = {{"name", weis->items[0].metadata.name}};
  EXPECT_EQ(ana->call(routes::kGetToken, weis_token).error().code, Code::kNotFound);
  EXPECT_EQ(ana->call(routes::kDeleteToken, weis_token).error().code, Code::kNotFound);
  EXPECT_EQ(root_->call(routes::kCreateToken).error().field, "spec.user") << "root is no user";
}

TEST_F(AccessTest, TokensOfAUserHaveALimit) {
  user("ana");
  for (int64_t i = 1; i < core::kTokenLimit; ++i) ASSERT_TRUE(token({.user = "ana"}).ok());
  auto more = token({.user = "ana"});
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, Code::kExhausted);
  EXPECT_NE(more.error().text().find("has 50 tokens already"), std::string::npos);
}

TEST_F(AccessTest, AMaintainerChangesMembersAndNothingThatCosts) {
  auto ana = as(user("ana"));
  user("wei");
  grant("p", "ana", ProjectRole::kMaintainer);
  client::PathParams p = {{"name", "p"}};
  auto project = ana->call(routes::kGetProject, p);
  ASSERT_TRUE(project.ok());
  project->spec.members["wei"] = ProjectRole::kMember;
  ASSERT_TRUE(ana->call(routes::kReplaceProject, p, {}, *project).ok());
  EXPECT_EQ(root_->call(routes::kGetProject, p)->spec.members.size(), 2u);
  project = ana->call(routes::kGetProject, p);
  api::Project greedy = *project, misspelt = *project;
  greedy.spec.hostPaths = {"/"};
  EXPECT_EQ(ana->call(routes::kReplaceProject, p, {}, greedy).error().code,
            Code::kPermissionDenied);
  misspelt.spec.members["wie"] = ProjectRole::kMember;
  EXPECT_EQ(ana->call(routes::kReplaceProject, p, {}, misspelt).error().field, "spec.members.wie");
}

TEST_F(AccessTest, AJobSaysWhoseItIsAndNobodyChangesThat) {
  auto ana = as(user("ana"));
  grant("p", "ana", ProjectRole::kMember);
  std::string key(api::kUserAnnotation);
  api::Job forged = job("a");
  forged.metadata.annotations = {{key, "root"}, {"mine", "1"}};
  ASSERT_TRUE(ana->call(routes::kCreateJob, in("p"), {}, forged).ok());
  auto made = root_->call(routes::kGetJob, in("p", "a"));
  EXPECT_EQ(made->metadata.annotations.at(key), "ana");
  Value patch, metadata, annotations;
  annotations.set(key, Value("wei"));
  metadata.set("annotations", annotations);
  patch.set("metadata", metadata);
  ASSERT_TRUE(root_->call(routes::kPatchJob, in("p", "a"), {}, patch).ok());
  made = root_->call(routes::kGetJob, in("p", "a"));
  EXPECT_EQ(made->metadata.annotations.at(key), "ana");
  EXPECT_EQ(made->metadata.annotations.at("mine"), "1");
}

TEST_F(AccessTest, UsageIsShownToWhoMaySeeTheProject) {
  auto ana = as(user("ana")), wei = as(user("wei"));
  grant("p", "ana", ProjectRole::kMember);
  grant("q", "wei", ProjectRole::kMember);
  for (const auto& [who, project] : {std::pair(ana.get(), "p"), std::pair(wei.get(), "q")}) {
    ASSERT_TRUE(who->call(routes::kCreateJob, in(project), {}, job("a")).ok());
    ASSERT_TRUE(who->call(routes::kStopJob, in(project, "a")).ok());
  }
  auto accounts = [](const Result<api::UsageReport>& report) {
    if (!report.ok()) return report.error().text();
    std::string out;
    for (const api::UsageRow& row : report->items)
      out += cat(row.project, "/", row.user, row.day.empty() ? "" : "@today", " ");
    return out;
  };
  EXPECT_EQ(accounts(root_->call(routes::kUsage)), "p/ana q/wei ");
  EXPECT_EQ(accounts(ana->call(routes::kUsage)), "p/ana ");
  EXPECT_EQ(accounts(as(user("guest"))->call(routes::kUsage)), "");
  EXPECT_EQ(ana->call(routes::kUsage, {}, {.project = "q"}).error().code, Code::kPermissionDenied);
  using api::UsageBy;
  EXPECT_EQ(accounts(root_->call(routes::kUsage, {}, {.by = {UsageBy::kProject, UsageBy::kDay}})),
            "p/@today q/@today ");
  EXPECT_EQ(accounts(root_->call(routes::kUsage, {}, {.by = {UsageBy::kUser}, .project = "q"})),
            "/wei ");
  EXPECT_EQ(accounts(root_->call(routes::kUsage, {}, {.until = "2001-01-01"})), "");
  EXPECT_EQ(root_->call(routes::kUsage, {}, {.since = "last week"}).error().text(),
            "since: 'last week' is not a day (write it like 2026-01-31)");
  EXPECT_EQ(
      root_->call(routes::kUsage, {}, {.since = "2026-02-01", .until = "2026-01-01"}).error().field,
      "until");
}

TEST_F(AccessTest, TheAuditLogTellsWhoDidWhatFromWhere) {
  auto ana = as(user("ana"));
  grant("p", "ana", ProjectRole::kMember);
  ASSERT_TRUE(ana->call(routes::kCreateJob, in("p"), {}, job("a")).ok());
  ASSERT_FALSE(ana->call(routes::kCreateJob, in("q"), {}, job("a")).ok());
  ASSERT_FALSE(as("wrong")->call(routes::kListAllJobs).ok());
  auto log = root_->call(routes::kListAudit);
  ASSERT_TRUE(log.ok()) << log.error().text();
  std::vector<std::string> lines;
  for (const api::AuditRecord& one : log->items)
    lines.push_back(cat(one.user, "|", one.action, "|", one.object, "|", one.result));
  ASSERT_GE(lines.size(), 7u);
  lines.resize(7);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "|listAllJobs|/api/v1/jobs|unauthenticated",
                       "ana|createJob|/api/v1/projects/q/jobs|permission_denied",
                       "ana|createJob|p/a|ok", "root|replaceProject|p|ok",
                       cat("root|createToken|", ana->call(routes::kWhoAmI)->token, "|ok"),
                       "root|createUser|ana|ok", "root|createProject|q|ok"}));
  EXPECT_TRUE(log->items[1].from.starts_with("127.0.0.1, token token-")) << log->items[1].from;
  EXPECT_TRUE(log->items[3].from.starts_with("uid ")) << log->items[3].from;
  auto page = root_->call(routes::kListAudit, {}, {.user = "ana", .limit = 1});
  ASSERT_EQ(page->items.size(), 1u);
  auto next = root_->call(routes::kListAudit, {},
                          {.user = "ana", .before = to_int(page->continue_), .limit = 1});
  EXPECT_EQ(next->items.at(0).object, "p/a");
  EXPECT_EQ(root_->call(routes::kListAudit, {}, {.refused = true})->items.size(), 2u);
}

}  // namespace
}  // namespace tessera::server
