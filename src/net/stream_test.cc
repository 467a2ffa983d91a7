#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "base/text.h"
#include "net/test_server.h"

namespace tessera::net {
namespace {

TEST(Stream, DeliversChunksInOrderAsTheyCome) {
  Awaited<std::shared_ptr<BodyStream>> started;
  TestServer test([&](Request, Peer, Exchange exchange) {
    started.set(exchange.start_stream(201, {{"X", "y"}}));
  });
  std::string got;
  std::atomic<size_t> seen = 0;
  auto reading = std::async(std::launch::async, [&] {
    return test.client.stream({}, [&](std::string_view chunk) {
      got += chunk;
      seen = got.size();
      seen.notify_all();
      return true;
    });
  });
  auto stream = started.get();
  Awaited<std::string> closed;
  stream->on_closed([&](const std::string& reason) { closed.set(reason); });
  std::string sent;
  for (int i = 0; i < 100; ++i) {
    std::string line = cat("line ", i, "\n");
    sent += line;
    ASSERT_TRUE(stream->write(std::move(line)));
    if (i % 10 == 0)  // each piece arrives before the next is written
      for (size_t have = seen; have < sent.size(); have = seen) seen.wait(have);
  }
  EXPECT_TRUE(stream->write(""));
  stream->finish();
  EXPECT_FALSE(stream->write("too late"));
  auto response = reading.get();
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->headers.get("x"), "y");
  EXPECT_EQ(got, sent);
  EXPECT_EQ(closed.get(), "");
}

TEST(Stream, FailureIsReturnedWithItsBody) {
  TestServer test([](Request request, Peer, Exchange exchange) {
    if (request.path == "/plain") return void(exchange.respond({404, {}, "no such job"}));
    auto stream = exchange.start_stream(500, {});
    stream->write("broken");
    stream->finish();
  });
  auto never = [](std::string_view) {
    ADD_FAILURE() << "a failure's body is no chunk";
    return true;
  };
  auto plain = test.client.stream({"GET", "/plain", {}, {}, ""}, never);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->status, 404);
  EXPECT_EQ(plain->body, "no such job");
  auto chunked = test.client.stream({}, never);
  ASSERT_TRUE(chunked.ok());
  EXPECT_EQ(chunked->body, "broken");
}

TEST(Stream, OldClientsAndHeadRequestsAreServed) {
  TestServer test([](Request, Peer, Exchange exchange) {
    auto stream = exchange.start_stream(200, {});
    stream->write("text");
    stream->finish();
  });
  RawClient old(test.path());
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_all(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ntext");
  RawClient head(test.path());
  head.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(head.read_all(),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
}

TEST(Stream, ASlowReaderIsCutAndMemoryBounded) {
  Awaited<std::shared_ptr<BodyStream>> started;
  TestServer test(
      [&](Request, Peer, Exchange exchange) { started.set(exchange.start_stream(200, {})); });
  RawClient reader(test.path());
  reader.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");  // and reads nothing
  auto stream = started.get();
  Awaited<std::string> closed;
  stream->on_closed([&](const std::string& reason) { closed.set(reason); });
  size_t queued_most = 0;
  while (stream->write(std::string(64 << 10, 'x')))
    queued_most = std::max(queued_most, stream->queued_bytes());
  EXPECT_LE(queued_most, kStreamBufferLimit);
  EXPECT_NE(closed.get().find("reads too slowly"), std::string::npos);
  EXPECT_EQ(reader.read_all().find("\r\n0\r\n"), std::string::npos) << "it must not look complete";
  EXPECT_TRUE(stream->closed());
}

TEST(Stream, AWaitingProducerIsPacedByItsReader) {
  constexpr size_t kTotal = 32 << 20;
  std::jthread producer;
  TestServer test([&](Request, Peer, Exchange exchange) {
    producer = std::jthread([stream = exchange.start_stream(200, {})] {
      for (size_t sent = 0; sent < kTotal; sent += 64 << 10) {
        EXPECT_TRUE(stream->write_within(std::string(64 << 10, 'x'), kNoDeadline));
        EXPECT_LE(stream->queued_bytes(), kStreamBufferLimit);
      }
      stream->finish();
    });
  });
  size_t got = 0;
  auto response = test.client.stream({}, [&](std::string_view chunk) {
    got += chunk.size();
    return true;
  });
  EXPECT_TRUE(response.ok());
  EXPECT_EQ(got, kTotal);
}

TEST(Stream, AProducerThatWaitedInVainCutsTheReader) {
  Awaited<std::shared_ptr<BodyStream>> started;
  TestServer test(
      [&](Request, Peer, Exchange exchange) { started.set(exchange.start_stream(200, {})); });
  RawClient reader(test.path());
  reader.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  auto stream = started.get();
  while (stream->write_within(std::string(1 << 20, 'x'), Millis{20})) {
  }
  EXPECT_TRUE(stream->closed());
}

TEST(Stream, TheProducerLearnsThatItsClientLeft) {
  Awaited<std::shared_ptr<BodyStream>> started;
  TestServer test(
      [&](Request, Peer, Exchange exchange) { started.set(exchange.start_stream(200, {})); });
  auto client = std::make_unique<RawClient>(test.path());
  client->send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  auto stream = started.get();
  Awaited<std::string> closed;
  stream->on_closed([&](const std::string& reason) { closed.set(reason); });
  ASSERT_TRUE(stream->write("one"));
  client.reset();
  EXPECT_EQ(closed.get(), kClientGone);
  EXPECT_FALSE(stream->write("two"));
  Awaited<std::string> late;
  stream->on_closed([&](const std::string& reason) { late.set(reason); });
  EXPECT_EQ(late.get(), kClientGone);
}

TEST(Stream, TheClientMayEndItFromItsCallbackOrAnotherThread) {
  std::atomic<int> ended = 0;
  TestServer test([&](Request, Peer, Exchange exchange) {
    auto stream = exchange.start_stream(200, {});
    stream->write("one\n");
    // The callback keeps the stream open until it is called.
    stream->on_closed([&ended, stream](const std::string&) {
      ++ended;
      ended.notify_all();
    });
  });
  auto response = test.client.stream({}, [](std::string_view) { return false; });
  EXPECT_TRUE(response.ok());
  std::stop_source stop;
  response = test.client.stream(
      {},
      [&](std::string_view) {
        std::thread([&] { stop.request_stop(); }).join();
        return true;
      },
      stop.get_token());
  EXPECT_TRUE(response.ok());
  for (int seen = ended; seen < 2; seen = ended) ended.wait(seen);
}

TEST(Stream, AnAbandonedStreamDoesNotLookComplete) {
  TestServer test(
      [](Request, Peer, Exchange exchange) { exchange.start_stream(200, {})->write("half"); });
  auto response = test.client.stream({}, [](std::string_view) { return true; });
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, Code::kUnavailable);
}

TEST(Stream, StopCutsOpenStreamsAndTheirHandlesStaySafe) {
  Awaited<std::shared_ptr<BodyStream>> started;
  TestServer test(
      [&](Request, Peer, Exchange exchange) { started.set(exchange.start_stream(200, {})); });
  auto reading = std::async(std::launch::async, [&] {
    return test.client.stream({}, [](std::string_view) { return true; });
  });
  auto stream = started.get();
  Awaited<std::string> closed, late;
  stream->on_closed([&](const std::string& reason) { closed.set(reason); });
  test.server.stop(Millis{1});
  EXPECT_EQ(closed.get(), "the server is stopping");
  EXPECT_FALSE(reading.get().ok());
  EXPECT_FALSE(stream->write("to nobody"));
  EXPECT_FALSE(stream->write_within("to nobody", kNoDeadline));
  stream->on_closed([&](const std::string& reason) { late.set(reason); });
  EXPECT_EQ(late.get(), "the server is stopping");
}

TEST(Stream, WritersOnManyThreadsWhileClientsComeAndGo) {
  std::atomic<int> open = 0;
  TestServer test([&](Request, Peer, Exchange exchange) {
    ++open;
    std::thread([&open, stream = exchange.start_stream(200, {})] {
      while (stream->write_within("a line of a log\n", kNoDeadline)) {
      }
      --open;
      open.notify_all();
    }).detach();
  });
  {
    std::vector<std::jthread> clients;
    for (int t = 0; t < 4; ++t)
      clients.emplace_back([&] {
        for (int i = 0; i < 10; ++i) {
          size_t got = 0;
          auto response = test.client.stream(
              {}, [&](std::string_view chunk) { return (got += chunk.size()) < 100'000; });
          EXPECT_TRUE(response.ok());
        }
      });
  }
  for (int seen = open; seen > 0; seen = open) open.wait(seen);
}

}  // namespace
}  // namespace tessera::net
