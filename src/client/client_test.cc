#include "client/client.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>

#include "base/text.h"
#include "net/server.h"
#include "wire/json.h"

namespace tessera::client {
namespace {

namespace routes = api::routes;

// A server on a private socket that answers each request with the test's function.
class ClientTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/client.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  Client start(std::function<void(net::Request, net::Exchange)> answer) {
    server_ = std::make_unique<net::Server>(
        [answer = std::move(answer)](net::Request request, net::Peer, net::Exchange exchange) {
          answer(std::move(request), std::move(exchange));
        });
    Status listening = server_->listen(folder_ + "/s");
    EXPECT_TRUE(listening.ok());
    return Client(folder_ + "/s");
  }

  std::string folder_;
  std::unique_ptr<net::Server> server_;
};

net::Response json(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = body};
}

TEST_F(ClientTest, ACallIsThePathTheQueryAndTheBodyOfItsRoute) {
  std::promise<net::Request> seen;
  Client client = start([&](net::Request request, net::Exchange exchange) {
    seen.set_value(request);
    exchange.respond(json(201, request.body));
  });
  api::Job job{.metadata = {.name = "train"}, .spec = {.image = "busybox"}};
  auto created =
      client.call(routes::kCreateJob, {{"project", "vision"}}, {}, job, {.idempotency_key = "abc"});
  ASSERT_TRUE(created.ok()) << created.error().text();
  EXPECT_EQ(*created, job);
  net::Request request = seen.get_future().get();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/api/v1/projects/vision/jobs");
  EXPECT_EQ(request.headers.get("Idempotency-Key"), "abc");
  auto body = wire::parse_json(request.body);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->text("kind"), "Job");
  EXPECT_EQ(body->text("metadata", "name"), "train");
}

TEST_F(ClientTest, AnErrorComesBackWhole) {
  Client client = start([](net::Request, net::Exchange exchange) {
    exchange.respond(json(404, R"({"code":"not_found","message":"there is no job 'x'",)"
                               R"("field":"name","hint":"look","trace":"new"})"));
  });
  auto job = client.call(routes::kGetJob, {{"project", "default"}, {"name", "x"}});
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error(), error(Code::kNotFound, "there is no job 'x'", "name", "look"));
}

TEST_F(ClientTest, AnErrorWithoutABodyHasTheStatus) {
  Client client = start([](net::Request, net::Exchange exchange) {
    exchange.respond({.status = 502, .headers = {}, .body = ""});
  });
  auto version = client.call(routes::kVersion);
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().text(), "the server answered with status 502");
}

TEST_F(ClientTest, WhatANewerServerAddedIsLeftOut) {
  Client client = start([](net::Request, net::Exchange exchange) {
    exchange.respond(json(200, R"({"kind":"Job","metadata":{"name":"a","colour":"red"},)"
                               R"("spec":{"image":"x","volumes":[{"source":"/a","target":"/b",)"
                               R"("speed":9}]},"status":{"phase":"Running"}})"));
  });
  auto job = client.call(routes::kGetJob, {{"project", "default"}, {"name", "a"}});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(job->spec.volumes.at(0).target, "/b");
}

TEST_F(ClientTest, AListIsReadToItsEnd) {
  Client client = start([](net::Request request, net::Exchange exchange) {
    bool first = !request.params.find("continue");
    EXPECT_EQ(request.params.get("labelSelector"), "team=a,b!=c d");
    exchange.respond(json(200, first ? R"({"items":[{"spec":{"image":"a"}}],"continue":"1"})"
                                     : R"({"items":[{"spec":{"image":"b"}}]})"));
  });
  auto list = client.list_tree(routes::kListJobs, {{"project", "default"}},
                               {.labelSelector = "team=a,b!=c d"});
  ASSERT_TRUE(list.ok()) << list.error().text();
  ASSERT_EQ(list->find("items")->list()->size(), 2u);
  EXPECT_EQ(list->find("items")->list()->at(1).text("spec", "image"), "b");
}

TEST_F(ClientTest, AWatchGivesChangesUntilTheCallerHasEnough) {
  Client client = start([](net::Request request, net::Exchange exchange) {
    EXPECT_EQ(request.params.get("watch"), "true");
    EXPECT_EQ(request.params.get("resourceVersion"), "7");
    auto stream = exchange.start_stream(200, {});
    // Cut in the middle of a line, as a network may do.
    stream->write(R"({"type":"ADDED","object":{"kind":"Job","spec":{"ima)");
    stream->write(
        "ge\":\"a\"}}}\n{\"type\":\"DELETED\",\"object\":{\"spec\":{\"image\":\"a\"}}}\n");
    stream->finish();
  });
  std::vector<api::Change> changes;
  auto take = [&](api::Change change, const api::Job& job) {
    EXPECT_EQ(job.spec.image, "a");
    changes.push_back(change);
    return true;
  };
  Status ended = client.watch<api::Job>(routes::kListJobs, {{"project", "default"}},
                                        {.resourceVersion = 7}, take);
  EXPECT_TRUE(ended.ok()) << ended.error().text();
  EXPECT_EQ(changes, (std::vector{api::Change::kAdded, api::Change::kDeleted}));

  auto first_only = [](api::Change, const api::Job&) { return false; };
  ended = client.watch<api::Job>(routes::kListJobs, {{"project", "default"}},
                                 {.resourceVersion = 7}, first_only);
  EXPECT_TRUE(ended.ok()) << ended.error().text();
}

TEST_F(ClientTest, AWatchThatIsTooOldSaysSo) {
  Client client = start([](net::Request, net::Exchange exchange) {
    auto stream = exchange.start_stream(200, {});
    stream->write("{\"type\":\"ERROR\",\"object\":{\"code\":\"gone\",\"message\":\"too old\"}}\n");
    stream->finish();
  });
  Status ended = client.watch<api::Job>(routes::kListJobs, {{"project", "default"}}, {},
                                        [](api::Change, const api::Job&) { return true; });
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, Code::kGone);
}

TEST_F(ClientTest, ASessionSpeaksInChannels) {
  // An echo that ends with status 3 when its input is closed.
  std::shared_ptr<net::WebSocket> socket;
  std::vector<std::string> asked;
  Client client = start([&](net::Request request, net::Exchange exchange) {
    asked = request.params.all("command");
    auto opened = exchange.upgrade(kSubprotocol);
    ASSERT_TRUE(opened.ok());
    socket = *opened;
    socket->on_message([&](std::string message) {
      if (message[0] == 0) {
        message[0] = 1;
        socket->send(message);
      } else if (message[0] == 4) {
        socket->send("\2" + message.substr(1));
      } else {
        socket->send("\3{\"exitCode\":3}");
        socket->close();
      }
    });
  });
  auto session = client.open(routes::kExecJob, {{"project", "default"}, {"name", "a"}},
                             {.command = {"sh", "-c", "a b"}});
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_EQ(asked, (std::vector<std::string>{"sh", "-c", "a b"}));
  EXPECT_TRUE((*session)->send_input("hello"));
  EXPECT_TRUE((*session)->resize(80, 24));
  EXPECT_TRUE((*session)->close_input());
  auto echo = (*session)->receive();
  ASSERT_TRUE(echo);
  EXPECT_EQ(echo->channel, Channel::kStdout);
  EXPECT_EQ(echo->data, "hello");
  EXPECT_EQ((*session)->receive()->data, R"({"Width":80,"Height":24})");
  auto status = (*session)->receive();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->channel, Channel::kStatus);
  EXPECT_EQ(to_exit_status(*status)->exitCode, 3);
  EXPECT_FALSE((*session)->receive());
  EXPECT_EQ((*session)->broken(), "");
  (*session).reset();
  server_.reset();
}

TEST_F(ClientTest, ADeclinedSessionIsAnError) {
  Client client = start([](net::Request, net::Exchange exchange) {
    exchange.respond(json(409, R"({"code":"conflict","message":"job 'a' does not run"})"));
  });
  auto session = client.open(routes::kAttachJob, {{"project", "default"}, {"name", "a"}}, {});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().text(), "job 'a' does not run");
}

TEST(Request, ANameThatWouldBeAnotherPathIsRefused) {
  for (std::string name : {"", "a/b"}) {
    auto request =
        to_request({routes::kGetJob, {{"project", "default"}, {"name", name}}, {}, {}, {}});
    ASSERT_FALSE(request.ok());
    EXPECT_EQ(request.error().code, Code::kInvalid);
  }
}

}  // namespace
}  // namespace tessera::client
