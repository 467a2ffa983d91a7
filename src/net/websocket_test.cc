#include "net/websocket.h"

#include <atomic>
#include <thread>

#include "base/text.h"
#include "net/test_server.h"

namespace tessera::net {
namespace {

// Accepts subprotocol "echo.v1" and sends back each message; "bye" closes.
void echo(Request, Peer, Exchange exchange) {
  auto opened = exchange.upgrade("echo.v1");
  if (!opened.ok()) return void(exchange.respond(plain_error(opened.error())));
  auto socket = *opened;
  // The callback keeps the socket until it is closed.
  socket->on_message([socket](std::string message) {
    if (message == "bye") return socket->close();
    socket->send(std::move(message));
  });
}

std::unique_ptr<WebSocketClient> open(Client& client) {
  auto opened = client.open_websocket({}, {"other", "echo.v1"});
  EXPECT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(opened->response.status, 101);
  return std::move(opened->socket);
}

TEST(WebSocket, EchoesBinaryMessages) {
  TestServer test(echo);
  auto socket = open(test.client);
  EXPECT_EQ(socket->subprotocol(), "echo.v1");
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  for (const std::string& message : {bytes, std::string(), std::string(kMessageLimit, '\0')}) {
    ASSERT_TRUE(socket->send(message));
    EXPECT_EQ(socket->receive(), message);
  }
}

TEST(WebSocket, ClosesInOrderFromEitherSide) {
  TestServer test(echo);
  auto by_client = open(test.client);
  by_client->send("last");
  by_client->close();
  EXPECT_FALSE(by_client->send("too late"));
  by_client->receive();
  EXPECT_EQ(by_client->receive(), std::nullopt);
  EXPECT_EQ(by_client->close_reason(), "");

  auto by_server = open(test.client);
  by_server->send("bye");
  EXPECT_EQ(by_server->receive(), std::nullopt);
  EXPECT_EQ(by_server->close_reason(), "");
  EXPECT_FALSE(by_server->send("too late"));
}

TEST(WebSocket, BothSidesMayCloseAtOnce) {
  std::atomic<int> open_count = 0;
  TestServer test([&](Request, Peer, Exchange exchange) {
    auto socket = exchange.upgrade("").value();
    ++open_count;
    socket->on_message([socket](std::string) { socket->close(); });
    socket->on_closed([&](const std::string&) {
      --open_count;
      open_count.notify_all();
    });
  });
  for (int i = 0; i < 50; ++i) {
    auto opened = test.client.open_websocket({}, {});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    opened->socket->send("close now");
    opened->socket->close();
    EXPECT_EQ(opened->socket->receive(), std::nullopt);
    EXPECT_EQ(opened->socket->close_reason(), "");
  }
  for (int seen = open_count; seen > 0; seen = open_count) open_count.wait(seen);
}

TEST(WebSocket, RefusalsReachTheClient) {
  TestServer test(echo);
  auto other = test.client.open_websocket({}, {"other"});
  ASSERT_TRUE(other.ok()) << other.error().text();
  EXPECT_EQ(other->socket, nullptr);
  EXPECT_EQ(other->response.status, 400);
  EXPECT_NE(other->response.body.find("'echo.v1', which the client does not offer"),
            std::string::npos);
  auto plain = test.client.request({});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->status, 400);
  EXPECT_NE(plain->body.find("needs a WebSocket"), std::string::npos);
}

TEST(WebSocket, HeadersAndQueryComeThrough) {
  Awaited<Request> seen;
  TestServer test([&](Request request, Peer, Exchange exchange) {
    exchange.upgrade("").value()->send("hello");  // and lets go: delivered, then closed
    seen.set(std::move(request));
  });
  auto opened = test.client.open_websocket(
      {"GET", "/exec", {{"cmd", "a b"}}, {{"Authorization", "Bearer x"}}, ""}, {});
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(opened->socket->subprotocol(), "");
  EXPECT_EQ(opened->socket->receive(), "hello");
  EXPECT_EQ(opened->socket->receive(), std::nullopt);
  Request request = seen.get();
  EXPECT_EQ(request.path, "/exec");
  EXPECT_EQ(request.params.get("cmd"), "a b");
  EXPECT_EQ(request.headers.get("Authorization"), "Bearer x");
}

TEST(WebSocket, ClosingWakesAReceivingThread) {
  TestServer test(echo);
  auto socket = open(test.client);
  Awaited<bool> ended;
  std::jthread receiver([&] { ended.set(!socket->receive()); });
  socket->close();
  EXPECT_TRUE(ended.get());
}

TEST(WebSocket, ReceivesWhileOthersSend) {
  TestServer test(echo);
  auto socket = open(test.client);
  std::vector<std::jthread> senders;
  for (int t = 0; t < 4; ++t)
    senders.emplace_back([&] {
      for (int i = 0; i < 250; ++i) EXPECT_TRUE(socket->send(std::string(100, 'm')));
    });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(socket->receive(), std::string(100, 'm'));
}

TEST(WebSocket, ASlowConsumerSlowsItsPeer) {
  constexpr int kMessages = 256;  // of 64 KiB: four times what may wait
  Awaited<std::shared_ptr<WebSocket>> opened_on_server;
  std::atomic<int> got = 0;
  TestServer test([&](Request, Peer, Exchange exchange) {
    auto socket = exchange.upgrade("").value();
    socket->on_message([&got, socket](std::string) {
      socket->pause();
      ++got;
      got.notify_all();
    });
    opened_on_server.set(socket);
  });
  auto opened = test.client.open_websocket({}, {});
  ASSERT_TRUE(opened.ok());
  std::jthread sender([&] {
    for (int i = 0; i < kMessages; ++i)
      EXPECT_TRUE(opened->socket->send(std::string(64 << 10, 'x')));
  });
  auto socket = opened_on_server.get();
  for (int expected = 1; expected <= kMessages; ++expected) {
    for (int seen = got; seen < expected; seen = got) got.wait(seen);
    socket->resume();
  }
  EXPECT_EQ(got, kMessages);
}

TEST(WebSocket, TheServersReaderIsBoundedToo) {
  std::jthread producer;
  TestServer test([&](Request, Peer, Exchange exchange) {
    producer = std::jthread([socket = exchange.upgrade("").value()] {
      for (int i = 0; i < 512; ++i)
        EXPECT_TRUE(socket->send_within(std::string(64 << 10, 'x'), kNoDeadline));
    });
  });
  auto opened = test.client.open_websocket({}, {});
  ASSERT_TRUE(opened.ok());
  int count = 0;
  while (opened->socket->receive()) ++count;
  EXPECT_EQ(count, 512);
}

TEST(WebSocket, AVanishedClientAndAStoppedServerAreNoticed) {
  Awaited<std::string> closed[2];
  std::atomic<int> next = 0;
  TestServer test([&](Request, Peer, Exchange exchange) {
    auto socket = exchange.upgrade("").value();
    socket->on_message([socket](std::string) {});
    socket->on_closed([&, i = next++](const std::string& reason) { closed[i].set(reason); });
  });
  {
    RawClient raw(test.path());
    raw.send(
        "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    EXPECT_NE(raw.read_until("\r\n\r\n").find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
  }
  EXPECT_NE(closed[0].get(), "");
  auto opened = test.client.open_websocket({}, {});
  ASSERT_TRUE(opened.ok());
  test.server.stop(Millis{1});
  EXPECT_EQ(closed[1].get(), "the server is stopping");
  EXPECT_EQ(opened->socket->receive(), std::nullopt);
  EXPECT_NE(opened->socket->close_reason(), "");
}

}  // namespace
}  // namespace tessera::net
