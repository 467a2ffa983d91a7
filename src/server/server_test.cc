// The server as a whole over its socket, with the simulated engine: what a client sees.

#include "server/server.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "client/client.h"
#include "engine/sim/sim_engine.h"
#include "wire/json.h"

namespace tessera::server {
namespace {

namespace routes = api::routes;

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tessera-server-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    start();
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  // Also a second time, over the same store and the same containers.
  void start() {
    server_.reset();
    ServerOptions options{.version = "test",
                          .data_folder = folder_ + "/data",
                          .socket_path = folder_ + "/socket",
                          .socket_mode = {.mode = 0600, .gid = std::nullopt},
                          .openapi = "{}",
                          .policy = {}};
    server_ =
        std::make_unique<Server>(std::move(options), std::make_unique<engine::SimEngine>(world_),
                                 std::vector<std::unique_ptr<accel::Provider>>{});
    Status started = server_->start();
    ASSERT_TRUE(started.ok()) << started.error().text();
    client_ = std::make_unique<client::Client>(folder_ + "/socket");
  }

  static client::PathParams path(const std::string& name = {}) {
    client::PathParams out{{"project", "default"}};
    if (!name.empty()) out.emplace_back("name", name);
    return out;
  }
  static api::Job job(const std::string& name, std::vector<std::string> program) {
    api::Job out;
    out.metadata.name = name;
    out.spec.image = "image";
    out.spec.args = std::move(program);
    return out;
  }
  Result<api::Job> create(const api::Job& job, const std::string& key = {}) {
    return client_->call(routes::kCreateJob, path(), {}, job, {.idempotency_key = key});
  }
  // Watches until the job is over.
  api::Job await_end(const std::string& name) {
    api::Job last;
    Status watched = client_->watch<api::Job>(
        routes::kListJobs, path(), {.fieldSelector = cat("metadata.name=", name), .watch = true},
        [&](api::Change, const api::Job& job) {
          last = job;
          return !api::is_terminal(job.status.phase);
        });
    EXPECT_TRUE(watched.ok()) << watched.error().text();
    return last;
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
  std::unique_ptr<client::Client> client_;
};

TEST_F(ServerTest, AJobRunsAndItsOutputAndExitCodeCome) {
  ASSERT_TRUE(create(job("a", {"print", "hello", "exit", "3"})).ok());
  std::string output;
  Status read =
      client_->text(routes::kJobLogs, path("a"), {.follow = true}, [&](std::string_view text) {
        output += text;
        return true;
      });
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(output, "hello\n");
  api::Job ended = await_end("a");
  EXPECT_EQ(ended.status.phase, api::Phase::kFailed);
  EXPECT_EQ(ended.status.exitCode, 3);
}

TEST_F(ServerTest, ALogTellsItsStreamsApartForWhomAsks) {
  ASSERT_TRUE(
      create(job("a", {"print", "one", "print-error", "two", "print-part", "thr", "print", "ee"}))
          .ok());
  std::string told;
  int last = 0;
  Status read = client_->logs(path("a"), {.follow = true}, [&](int stream, std::string_view text) {
    if (stream != std::exchange(last, stream)) told += cat(stream, ":");
    told += text;
    return true;
  });
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(told, "1:one\n2:two\n1:three\n");
}

TEST_F(ServerTest, AKeyMakesARepeatedCreateTheFirstOne) {
  api::Job wanted = job("", {"loop"});
  auto first = create(wanted, "key"), again = create(wanted, "key");
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->metadata.uid, again->metadata.uid);
  start();  // also after a restart
  auto later = create(wanted, "key");
  ASSERT_TRUE(later.ok()) << later.error().text();
  EXPECT_EQ(first->metadata.uid, later->metadata.uid);
  wanted.spec.args = {"exit", "1"};
  auto other = create(wanted, "key");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::kConflict);
}

TEST_F(ServerTest, ARestartLosesNothingAndRunsNothingTwice) {
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(create(job(cat("j", i), {"sleep", "200ms", "exit", cat(i)})).ok());
  start();
  for (int i = 0; i < 5; ++i) {
    api::Job ended = await_end(cat("j", i));
    EXPECT_EQ(ended.status.exitCode, i);
    EXPECT_EQ(ended.status.attempts, 1);
  }
}

TEST_F(ServerTest, WhoeverWasSlowerIsTold) {
  auto made = create(job("a", {"loop"}));
  ASSERT_TRUE(made.ok());
  auto now = client_->call(routes::kGetJob, path("a"));
  api::Job first = *now, second = *now;
  first.spec.priority = 1;
  second.spec.priority = 2;
  first.metadata.resourceVersion = second.metadata.resourceVersion = 1;
  auto stale = client_->call(routes::kReplaceJob, path("a"), {}, second);
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().code, Code::kConflict);
  first.metadata.resourceVersion = 0;
  EXPECT_TRUE(client_->call(routes::kReplaceJob, path("a"), {}, first).ok());
}

TEST_F(ServerTest, MistakesAreNamed) {
  api::Job bad = job("Bad_Name", {});
  auto refused = create(bad);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "metadata.name");
  auto missing = client_->call(routes::kGetJob, path("nothing"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  net::Client raw(folder_ + "/socket");
  struct Case {
    net::Request request;
    int status;
    std::string_view part;
  };
  const Case kCases[] = {
      {{.method = "GET", .path = "/nowhere"}, 404, "there is no /nowhere"},
      {{.method = "DELETE", .path = "/api/v1/nodes"}, 400, "does not take DELETE"},
      {{.method = "POST", .path = "/api/v1/projects/default/jobs", .body = "{"},
       400,
       "not valid JSON"},
      {{.method = "POST",
        .path = "/api/v1/projects/default/jobs",
        .body = R"({"spec":{"imag":"x"}})"},
       400,
       "did you mean image?"},
      {{.method = "GET", .path = "/api/v1/jobs", .params = {{"limt", "3"}}},
       400,
       "did you mean limit?"},
      {{.method = "GET", .path = "/api/v1/jobs", .params = {{"labelSelector", "=x"}}},
       400,
       "is not a selector"},
      {{.method = "GET", .path = "/healthz"}, 200, "ok"},
      {{.method = "GET", .path = "/readyz"}, 200, "ok"},
  };
  for (const Case& row : kCases) {
    auto answer = raw.request(row.request);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->status, row.status) << row.request.path << " " << answer->body;
    EXPECT_NE(answer->body.find(row.part), std::string::npos) << answer->body;
  }
}

TEST_F(ServerTest, ValuesOfSecretsReachJobsAndNobodyElse) {
  api::Secret secret;
  secret.metadata.name = "token";
  secret.data = {{"value", "s3cret"}};
  ASSERT_TRUE(client_->call(routes::kCreateSecret, path(), {}, secret).ok());
  auto seen = client_->call(routes::kGetSecret, path("token"));
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->data, (std::map<std::string, std::string>{{"value", ""}}));
  api::Job uses = job("a", {"exit", "0"});
  uses.spec.secrets = {{.name = "TOKEN", .path = {}, .secret = "token", .key = "nothing"}};
  ASSERT_TRUE(create(uses).ok());
  EXPECT_NE(await_end("a").status.message.find("has no key 'nothing'"), std::string::npos);
}

TEST_F(ServerTest, AVolumeOutsideTheAllowListDoesNotStart) {
  api::Job wants = job("a", {"exit", "0"});
  wants.spec.volumes = {{.source = "/etc", .target = "/etc-of-host"}};
  ASSERT_TRUE(create(wants).ok());
  EXPECT_NE(await_end("a").status.message.find("may not mount /etc"), std::string::npos);
}

TEST_F(ServerTest, ListsPageSelectAndWatchFromAVersion) {
  for (int i = 0; i < 5; ++i) {
    api::Job one = job(cat("j", i), {"loop"});
    one.metadata.labels = {{"odd", i % 2 ? "yes" : "no"}};
    ASSERT_TRUE(create(one).ok());
  }
  auto page = client_->call(routes::kListJobs, path(), {.limit = 2});
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->items.size(), 2u);
  auto rest = client_->call(routes::kListJobs, path(), {.continue_ = page->continue_});
  EXPECT_EQ(rest->items.size(), 3u);
  auto odd = client_->call(routes::kListJobs, path(), {.labelSelector = "odd=yes"});
  EXPECT_EQ(odd->items.size(), 2u);
  ASSERT_TRUE(client_->call(routes::kDeleteJob, path("j4")).ok());
  bool deleted = false;
  Status watched = client_->watch<api::Job>(
      routes::kListJobs, path(), {.watch = true, .resourceVersion = odd->resourceVersion},
      [&](api::Change change, const api::Job& job) {
        deleted = change == api::Change::kDeleted && job.metadata.name == "j4";
        return !deleted;
      });
  EXPECT_TRUE(watched.ok()) << watched.error().text();
  EXPECT_TRUE(deleted);
}

TEST_F(ServerTest, ExecTalksAndGivesTheExitCode) {
  ASSERT_TRUE(create(job("a", {"loop"})).ok());
  Status watched = client_->watch<api::Job>(
      routes::kListJobs, path(), {.watch = true},
      [](api::Change, const api::Job& job) { return job.status.phase != api::Phase::kRunning; });
  ASSERT_TRUE(watched.ok());
  auto session =
      client_->open(routes::kExecJob, path("a"), {.command = {"print", "inside", "exit", "4"}});
  ASSERT_TRUE(session.ok()) << session.error().text();
  std::string output;
  int64_t code = -1;
  while (auto frame = (*session)->receive()) {
    if (frame->channel == client::Channel::kStdout) output += frame->data;
    if (frame->channel == client::Channel::kStatus) code = client::to_exit_status(*frame)->exitCode;
  }
  EXPECT_EQ(output, "inside\n");
  EXPECT_EQ(code, 4);
}

TEST_F(ServerTest, ManyClientsAtOnce) {
  std::vector<std::thread> clients;
  std::atomic<int> accepted = 0;
  for (int c = 0; c < 8; ++c)
    clients.emplace_back([&, c] {
      client::Client own(folder_ + "/socket");
      for (int i = 0; i < 25; ++i) {
        api::Job one = job(cat("c", c, "-", i), {"exit", "0"});
        if (own.call(routes::kCreateJob, path(), {}, one).ok()) ++accepted;
      }
    });
  for (std::thread& thread : clients) thread.join();
  EXPECT_EQ(accepted, 200);
  for (int c = 0; c < 8; ++c)
    EXPECT_EQ(await_end(cat("c", c, "-24")).status.phase, api::Phase::kSucceeded);
}

}  // namespace
}  // namespace tessera::server
