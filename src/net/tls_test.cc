#include "net/tls.h"

#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "net/test_server.h"

namespace tessera::net {
namespace {

constexpr Millis kDay{86'400'000};

TEST(TcpAddress, IsReadAsPeopleWriteIt) {
  struct Case {
    std::string_view text;
    std::string host;
    uint16_t port;
  };
  for (const Case& row : {Case{"gpu1:7443", "gpu1", 7443}, Case{":7443", "", 7443},
                          Case{"[::1]:1", "::1", 1}, Case{"0.0.0.0:0", "0.0.0.0", 0}}) {
    auto read = parse_tcp_address(row.text);
    ASSERT_TRUE(read.ok()) << row.text;
    EXPECT_EQ(*read, (TcpAddress{row.host, row.port}));
    EXPECT_EQ(read->text(), row.text);
  }
  for (std::string_view bad : {"", "gpu1", "gpu1:", "gpu1:x", "gpu1:65536", "::1:7443", "a:-1"})
    EXPECT_FALSE(parse_tcp_address(bad).ok()) << bad;
}

TEST(Certificates, SayWhatTheyAreFor) {
  Instant now = wall_now();
  auto ca = make_authority("Test CA", now, kDay);
  ASSERT_TRUE(ca.ok()) << ca.error().text();
  auto made = issue_certificate(*ca, {"gpu1", "192.0.2.7", canonical_name("::1")}, now, kDay);
  ASSERT_TRUE(made.ok()) << made.error().text();
  auto facts = read_certificate(made->certificate);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->names, (std::vector<std::string>{"0000:0000:0000:0000:0000:0000:0000:0001",
                                                    "192.0.2.7", "gpu1"}));
  EXPECT_LT((facts->expires - (now + kDay)).value, 1000);
  EXPECT_TRUE(is_signed_by(made->certificate, ca->certificate));
  auto other = make_authority("Test CA", now, kDay);
  EXPECT_FALSE(is_signed_by(made->certificate, other->certificate));
  EXPECT_NE(fingerprint(ca->certificate).value(), fingerprint(other->certificate).value());
  EXPECT_TRUE(fingerprint(ca->certificate)->starts_with("SHA256:"));
  EXPECT_FALSE(read_certificate("rubbish").ok());
}

class TlsTest : public testing::Test {
 protected:
  void serve(Handler handler, Millis lifetime = kDay) {
    Instant now = wall_now();
    authority_ = make_authority("Test CA", now, kDay).value();
    auto context = TlsServerContext::make(
        issue_certificate(authority_, {"localhost", "127.0.0.1"}, now, lifetime).value());
    ASSERT_TRUE(context.ok()) << context.error().text();
    context_ = *context;
    server_ = std::make_unique<Server>(std::move(handler));
    auto port = server_->listen_tls({"127.0.0.1", 0}, context_);
    ASSERT_TRUE(port.ok()) << port.error().text();
    port_ = *port;
  }
  TlsTarget target(std::string host = "127.0.0.1") const {
    return {{std::move(host), port_}, authority_.certificate};
  }

  KeyPair authority_;
  std::shared_ptr<TlsServerContext> context_;
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
};

TEST_F(TlsTest, CarriesRequestsOfAnySizeAndTellsTheAddress) {
  serve([](Request request, const Peer& peer, const Exchange& exchange) {
    exchange.respond({200, {{"X-From", peer.address}}, std::move(request.body)});
  });
  for (std::string host : {"127.0.0.1", "localhost"}) {
    Client client(target(host));
    for (size_t size : {0, 1, 16 << 10, 3 << 20}) {
      std::string body(size, 'x');
      auto response = client.request({"POST", "/", {}, {}, body});
      ASSERT_TRUE(response.ok()) << response.error().text();
      EXPECT_EQ(response->body.size(), size);
      EXPECT_EQ(response->headers.get("X-From"), "127.0.0.1");
    }
  }
}

TEST_F(TlsTest, CarriesStreamsAsTheyCome) {
  Awaited<std::shared_ptr<BodyStream>> stream;
  serve([&](const Request&, const Peer&, const Exchange& exchange) {
    stream.set(exchange.start_stream(200, {}));
  });
  std::shared_ptr<BodyStream> out;
  std::string got;
  Client client(target());
  std::thread writer([&] {
    out = stream.get();
    out->write("first");
  });
  auto ended = client.stream({}, [&](std::string_view chunk) {
    got += chunk;
    if (got == "first") out->write(" second");
    if (got == "first second") out->finish();
    return true;
  });
  writer.join();
  ASSERT_TRUE(ended.ok()) << ended.error().text();
  EXPECT_EQ(got, "first second");
}

TEST_F(TlsTest, CarriesWebSockets) {
  std::vector<std::shared_ptr<WebSocket>> sockets;
  serve([&](const Request&, const Peer&, const Exchange& exchange) {
    auto socket = exchange.upgrade("echo");
    ASSERT_TRUE(socket.ok());
    (*socket)->on_message([weak = std::weak_ptr(*socket)](std::string message) {
      if (auto self = weak.lock()) self->send(std::move(message));
    });
    sockets.push_back(*socket);
  });
  Client client(target());
  auto opened = client.open_websocket({}, {"echo"});
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  ASSERT_TRUE(opened->socket);
  for (std::string text : {std::string("hello"), std::string(200'000, 'y')}) {
    ASSERT_TRUE(opened->socket->send(text));
    EXPECT_EQ(opened->socket->receive(), text);
  }
}

TEST_F(TlsTest, AClientThatLeavesEndsItsStream) {
  Awaited<std::string> why;
  std::shared_ptr<BodyStream> kept;
  serve([&](const Request&, const Peer&, const Exchange& exchange) {
    kept = exchange.start_stream(200, {});
    kept->on_closed([&](const std::string& reason) { why.set(reason); });
    kept->write("x");
  });
  Client client(target());
  auto ended = client.stream({}, [](std::string_view) { return false; });
  EXPECT_TRUE(ended.ok());
  EXPECT_EQ(why.get(), kClientGone);
}

TEST_F(TlsTest, AServerThatIsNotTheRightOneIsRefused) {
  serve([](const Request&, const Peer&, const Exchange& exchange) { exchange.respond({}); });
  TlsTarget other = target();
  other.ca_pem = make_authority("Test CA", wall_now(), kDay)->certificate;
  TlsTarget nobody = target();
  nobody.ca_pem.clear();
  for (const TlsTarget& wrong : {other, nobody}) {
    auto response = Client(wrong).request({});
    ASSERT_FALSE(response.ok());
    EXPECT_EQ(response.error().code, Code::kUnauthenticated) << response.error().text();
  }
  // The right CA, but not for this name.
  auto context =
      TlsServerContext::make(issue_certificate(authority_, {"gpu9"}, wall_now(), kDay).value());
  auto port = server_->listen_tls({"127.0.0.1", 0}, *context);
  auto response = Client(TlsTarget{{"127.0.0.1", *port}, authority_.certificate}).request({});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, Code::kUnauthenticated) << response.error().text();
}

TEST_F(TlsTest, ACertificateIsReplacedWhileTheServerRuns) {
  serve([](const Request&, const Peer&, const Exchange& exchange) { exchange.respond({}); },
        kDay * -1);
  auto expired = Client(target()).request({});
  ASSERT_FALSE(expired.ok());
  EXPECT_NE(expired.error().message.find("expired"), std::string::npos) << expired.error().text();
  auto fresh = issue_certificate(authority_, {"127.0.0.1"}, wall_now(), kDay);
  ASSERT_TRUE(context_->replace(*fresh).ok());
  EXPECT_TRUE(Client(target()).request({}).ok());
}

TEST_F(TlsTest, TheCaThatAServerShowsCanBeLookedAt) {
  serve([](const Request&, const Peer&, const Exchange& exchange) { exchange.respond({}); });
  auto shown = TlsDialer().fetch_authority({"127.0.0.1", port_});
  ASSERT_TRUE(shown.ok()) << shown.error().text();
  EXPECT_EQ(fingerprint(*shown).value(), fingerprint(authority_.certificate).value());
}

TEST_F(TlsTest, PlainHttpAndNobodyAreToldApart) {
  serve([](const Request&, const Peer&, const Exchange& exchange) { exchange.respond({}); });
  server_.reset();
  auto response = Client(target()).request({});
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, Code::kUnavailable) << response.error().text();
  EXPECT_NE(response.error().message.find("no Tessera server at https://127.0.0.1:"),
            std::string::npos)
      << response.error().text();
}

TEST_F(TlsTest, AnAnswerThatIsStillUnderWayReachesASlowClient) {
  serve([](const Request&, const Peer&, const Exchange& exchange) {
    exchange.respond({200, {}, std::string(8 << 20, 'z')});
  });
  Client client(target());
  auto response = client.request({"GET", "/", {}, {{"Connection", "close"}}, ""});
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->body.size(), size_t{8} << 20);
}

}  // namespace
}  // namespace tessera::net
