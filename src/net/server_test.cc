#include "net/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/text.h"
#include "net/test_server.h"

namespace tessera::net {
namespace {

void echo(Request request, Peer, Exchange exchange) {
  std::string text = cat(request.method, " ", request.path);
  for (const auto& [name, value] : request.params) text += cat(" ", name, "=", value);
  text += cat("|", request.body);
  exchange.respond({200, {{"X-Echo", std::string(request.headers.get("x-in"))}}, text});
}

TEST(Server, AnswersRequests) {
  TestServer test(echo);
  auto response = test.client.request(
      {"POST", "/a b", {{"q", "x y"}, {"q", "&"}}, {{"X-In", "hello"}}, "body"});
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "POST /a b q=x y q=&|body");
  EXPECT_EQ(response->headers.get("x-echo"), "hello");
}

TEST(Server, KeepsTheConnectionAndTakesPipelinedRequests) {
  TestServer test(echo);
  RawClient raw(test.path());
  raw.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2?a=b HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(raw.read_until("GET /2 a=b|").find("GET /1|"), std::string::npos);
  raw.send("GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  std::string last = raw.read_all();
  EXPECT_NE(last.find("Connection: close"), std::string::npos) << last;
  EXPECT_NE(last.find("GET /3|"), std::string::npos) << last;
}

TEST(Server, HeadHasNoBodyAndOldClientsAreClosed) {
  TestServer test(echo);
  auto response = test.client.request({"HEAD", "/x", {}, {}, ""});
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->body, "");
  EXPECT_EQ(response->headers.get("Content-Length"), "8");
  RawClient raw(test.path());
  raw.send("GET /old HTTP/1.0\r\n\r\n");
  EXPECT_NE(raw.read_all().find("GET /old|"), std::string::npos);
}

TEST(Server, TellsCurlToContinue) {
  TestServer test(echo);
  RawClient raw(test.path());
  raw.send("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_NE(raw.read_until("\r\n\r\n").find("100 Continue"), std::string::npos);
  raw.send("ok");
  EXPECT_NE(raw.read_until("PUT /|ok").find("200 OK"), std::string::npos);
}

TEST(Server, BodiesHaveALimit) {
  TestServer test([](Request request, Peer, Exchange exchange) {
    exchange.respond({200, {}, std::to_string(request.body.size())});
  });
  Request request{"POST", "/", {}, {}, std::string(kBodyLimit, 'x')};
  auto fits = test.client.request(request);
  ASSERT_TRUE(fits.ok()) << fits.error().text();
  EXPECT_EQ(fits->body, std::to_string(kBodyLimit));

  request.body += 'x';
  auto refused = test.client.request(request);
  ASSERT_TRUE(refused.ok()) << refused.error().text();
  EXPECT_EQ(refused->status, 413);
  EXPECT_NE(refused->body.find("larger than 16777216 bytes"), std::string::npos);

  RawClient chunked(test.path());
  chunked.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1000001\r\n");
  chunked.send(request.body);
  chunked.shut_sending();
  EXPECT_NE(chunked.read_all().find("413"), std::string::npos);
}

TEST(Server, MalformedInputIsRefusedAndTheServerLives) {
  TestServer test(echo);
  struct Case {
    std::string input;
    std::string_view status;
  };
  const Case cases[] = {
      {"nonsense\r\n\r\n", "400"},
      {std::string("\x16\x03\x01\x00\xff\r\n\r\n", 9), "400"},
      {"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
      {"GET / HTTP/1.1\r\nX: " + std::string(kHeaderLimit, 'x') + "\r\n\r\n", "431"},
      {"GET / HT", "400"},
  };
  for (const Case& one : cases) {
    RawClient raw(test.path());
    raw.send(one.input);
    raw.shut_sending();
    std::string answer = raw.read_all();
    EXPECT_EQ(answer.substr(0, 12), cat("HTTP/1.1 ", one.status)) << one.input.substr(0, 60);
  }
  EXPECT_TRUE(test.client.request({}).ok());
}

TEST(Server, ForgottenAndFailingHandlersGive500) {
  log::set_level(log::Level::kOff);
  TestServer test([](Request request, Peer, Exchange exchange) {
    if (request.path == "/throw") throw std::runtime_error("on purpose");
    if (request.path == "/thread") std::thread([exchange] {}).detach();
  });
  for (const char* path : {"/forget", "/throw", "/thread"}) {
    auto response = test.client.request({"GET", path, {}, {}, ""});
    ASSERT_TRUE(response.ok()) << path << response.error().text();
    EXPECT_EQ(response->status, 500) << path;
    EXPECT_NE(response->body.find("gave no answer"), std::string::npos) << path;
  }
  log::set_level(log::Level::kInfo);
}

TEST(Server, OnlyTheFirstAnswerCounts) {
  Awaited<bool> second, stream;
  TestServer test([&](Request, Peer, Exchange exchange) {
    EXPECT_TRUE(exchange.respond({200, {}, "first"}));
    second.set(exchange.respond({200, {}, "second"}));
    stream.set(exchange.start_stream(200, {})->write("third"));
  });
  auto response = test.client.request({});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->body, "first");
  EXPECT_FALSE(second.get());
  EXPECT_FALSE(stream.get());
}

TEST(Server, AnswersMayComeLaterFromAnyThreadAndInAnyOrder) {
  Awaited<Exchange> waiting;
  TestServer test([&](Request request, Peer, Exchange exchange) {
    if (request.path == "/wait") return waiting.set(exchange);
    exchange.respond({200, {}, "now"});
  });
  auto late = std::async(std::launch::async,
                         [&] { return test.client.request({"GET", "/wait", {}, {}, ""}); });
  Exchange exchange = waiting.get();
  EXPECT_EQ(test.client.request({})->body, "now");
  EXPECT_TRUE(exchange.respond({201, {}, "later"}));
  EXPECT_EQ(late.get()->body, "later");
}

TEST(Server, KnowsItsPeer) {
  Awaited<Peer> seen;
  TestServer test([&](Request, Peer peer, Exchange exchange) {
    seen.set(peer);
    exchange.respond({});
  });
  ASSERT_TRUE(test.client.request({}).ok());
  Peer peer = seen.get();
  EXPECT_EQ(peer.uid, ::getuid());
  EXPECT_EQ(peer.gid, ::getgid());
  EXPECT_EQ(peer.pid, ::getpid());
}

TEST(Server, EightThreadsAtOnce) {
  TestServer test([](Request request, Peer, Exchange exchange) {
    if (request.body.size() % 2 == 0) return echo(std::move(request), {}, exchange);
    std::thread([request, exchange] { echo(request, {}, exchange); }).detach();
  });
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) {
          std::string body(static_cast<size_t>(i * 31 % 1000), 'b');
          auto response = test.client.request({"PUT", cat("/", t), {{"i", cat(i)}}, {}, body});
          if (response.ok() && response->body == cat("PUT /", t, " i=", i, "|", body)) ++good;
        }
      });
  }
  EXPECT_EQ(good, 800);
}

TEST(Server, IdleConnectionsAndSlowSendersAreCut) {
  ServerOptions options;
  options.limits.idle = Millis{40};
  TestServer test(echo, options);
  RawClient silent(test.path());
  EXPECT_EQ(silent.read_all(), "");
  RawClient half(test.path());
  half.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(half.read_all(), "");
}

TEST(Server, ConnectionsHaveALimit) {
  ServerOptions options;
  options.limits.connections = 1;
  TestServer test(echo, options);
  RawClient first(test.path());
  first.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(first.read_until("GET /|").find("200"), std::string::npos);
  RawClient second(test.path());
  EXPECT_NE(second.read_all().find("503 Service Unavailable"), std::string::npos);
}

TEST(Server, TimersAndTasksRunOnItsThread) {
  TestServer test(echo);
  Awaited<bool> posted, timed;
  test.server.post([&] { posted.set(test.server.loop()->here()); });
  test.server.post([] { throw std::runtime_error("on purpose"); });
  test.server.after(Millis{1}, [&] { timed.set(test.server.loop()->here()); });
  EXPECT_TRUE(posted.get());
  EXPECT_TRUE(timed.get());
  EXPECT_FALSE(test.server.loop()->here());
}

TEST(Server, StopLetsRequestsFinish) {
  Awaited<Exchange> waiting;
  TestServer test([&](Request, Peer, Exchange exchange) { waiting.set(exchange); });
  RawClient idle(test.path());
  auto late = std::async(std::launch::async, [&] { return Client(test.path()).request({}); });
  Exchange exchange = waiting.get();
  auto stopped = std::async(std::launch::async, [&] { test.server.stop(kRequestDeadline); });
  EXPECT_EQ(idle.read_all(), "");  // stopping has begun
  EXPECT_TRUE(exchange.respond({200, {}, "in time"}));
  auto response = late.get();
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->body, "in time");
  EXPECT_EQ(response->headers.get("Connection"), "close");
  stopped.get();
  EXPECT_FALSE(test.server.loop()->post([] {}));
}

TEST(Server, StopCutsWhatDoesNotFinish) {
  Awaited<Exchange> waiting;
  TestServer test([&](Request, Peer, Exchange exchange) { waiting.set(exchange); });
  auto late = std::async(std::launch::async, [&] { return test.client.request({}); });
  Exchange exchange = waiting.get();
  test.server.stop(Millis{1});
  auto response = late.get();
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, Code::kUnavailable);
  EXPECT_TRUE(exchange.respond({}));  // to nobody; must not crash
  EXPECT_FALSE(exists(test.path()));
}

TEST(Listen, ReplacesAStaleSocketButNotALiveOne) {
  PrivateFolder folder;
  std::string path = folder.file("socket");
  {
    auto killed = UnixListener::open(path, {});
    ASSERT_TRUE(killed.ok());
    std::filesystem::rename(path, folder.file("kept"));  // as a killed server leaves it
  }
  std::filesystem::rename(folder.file("kept"), path);
  Server first(echo);
  auto listening = first.listen(path, {0600, ::getgid()});
  ASSERT_TRUE(listening.ok()) << listening.error().text();
  struct stat made;
  ASSERT_EQ(::stat(path.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0600u);
  ASSERT_TRUE(Client(path).request({}).ok());

  Server second(echo);
  auto taken = second.listen(path);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, Code::kAlreadyExists);
  EXPECT_NE(taken.error().text().find(path), std::string::npos);
  EXPECT_TRUE(Client(path).request({}).ok());
}

TEST(Listen, RefusesWhatIsNoPlaceForASocket) {
  PrivateFolder folder;
  Server server(echo);
  ASSERT_TRUE(write_file(folder.file("file"), "precious").ok());
  EXPECT_EQ(server.listen(folder.file("file")).error().code, Code::kAlreadyExists);
  EXPECT_EQ(read_file(folder.file("file")).value(), "precious");
  EXPECT_EQ(server.listen(folder.file(std::string(200, 'x'))).error().code, Code::kInvalid);
  EXPECT_EQ(server.listen(folder.file("no/folder")).error().code, Code::kNotFound);
}

TEST(Client, SaysHowToStartAServer) {
  PrivateFolder folder;
  auto response = Client(folder.file("none")).request({});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, Code::kUnavailable);
  EXPECT_EQ(response.error().text(), cat("no Tessera server listens at ", folder.file("none"),
                                         ": start one with 'tessera server'"));
}

TEST(Client, GivesUpAtTheDeadline) {
  std::vector<Exchange> kept;
  TestServer test([&](Request, Peer, Exchange exchange) { kept.push_back(exchange); });
  auto response = test.client.request({}, Millis{20});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, Code::kTimeout);
}

TEST(Server, DoesNotWaitForAnAnswerThatNobodyWantsAnymore) {
  ServerOptions options;
  options.limits.connections = 1;
  std::vector<Exchange> kept;
  TestServer test(
      [&](Request request, Peer, Exchange exchange) {
        if (request.path == "/wait") return kept.push_back(exchange);
        exchange.respond({});
      },
      options);
  EXPECT_FALSE(test.client.request({"GET", "/wait", {}, {}, ""}, Millis{20}).ok());
  // The one connection is free again as soon as the server has noticed.
  while (test.client.request({})->status != 200) {
  }
  kept.clear();
}

TEST(Client, NoticesAServerThatWasReplaced) {
  PrivateFolder folder;
  auto server = std::make_unique<Server>(echo);
  ASSERT_TRUE(server->listen(folder.file("socket")).ok());
  Client client(folder.file("socket"));
  ASSERT_TRUE(client.request({"POST", "/", {}, {}, ""}).ok());
  server = std::make_unique<Server>(echo);
  ASSERT_TRUE(server->listen(folder.file("socket")).ok());
  EXPECT_TRUE(client.request({"POST", "/", {}, {}, ""}).ok());
}

}  // namespace
}  // namespace tessera::net
