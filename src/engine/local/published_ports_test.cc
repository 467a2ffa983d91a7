#include "engine/local/published_ports.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"

namespace tessera::local {

namespace {

class PublishedPortsTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tessera-ports-XXXXXX";
    folder_ = ::mkdtemp(path);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(PublishedPortsTest, F4_LoopbackUnlessAnAddressIsGiven) {
  PublishedPorts ports(folder_);
  ASSERT_TRUE(ports.load({}).ok());
  auto got = ports.reserve("a.1", {{.port = 80}, {.port = 81, .hostAddress = "0.0.0.0"}});
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ((*got)[0].hostAddress, "127.0.0.1");
  EXPECT_GT((*got)[0].hostPort, 0);
  EXPECT_EQ(ports.local_rules(), "") << "it leads nowhere yet";
  ASSERT_TRUE(*ports.lead_to("a.1", "10.137.0.5"));
  EXPECT_EQ(ports.local_rules(),
            cat("    ip daddr 127.0.0.1 tcp dport ", (*got)[0].hostPort,
                " dnat ip to 10.137.0.5:80\n    fib daddr type local tcp dport ",
                (*got)[1].hostPort, " dnat ip to 10.137.0.5:81\n"));
  EXPECT_EQ(ports.incoming_rules(), cat("    fib daddr type local tcp dport ", (*got)[1].hostPort,
                                        " dnat ip to 10.137.0.5:81\n"));
  EXPECT_TRUE(ports.release("a.1"));
  EXPECT_FALSE(ports.release("a.1"));
  EXPECT_EQ(ports.local_rules(), "");
}

TEST_F(PublishedPortsTest, APortHasOneOwner) {
  PublishedPorts ports(folder_);
  ASSERT_TRUE(ports.load({}).ok());
  auto first = ports.reserve("a.1", {{.port = 80}});
  ASSERT_TRUE(first.ok());
  auto second = ports.reserve("b.1", {{.port = 80, .hostPort = (*first)[0].hostPort}});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("is in use"), std::string::npos);
  EXPECT_TRUE(ports.of("b.1").empty());
  // Another protocol has ports of its own.
  auto udp = ports.reserve("b.1", {{.port = 80,
                                    .hostPort = (*first)[0].hostPort,
                                    .hostAddress = {},
                                    .protocol = api::Protocol::kUdp}});
  EXPECT_TRUE(udp.ok()) << udp.error().text();
  auto elsewhere = ports.reserve("c.1", {{.port = 80, .hostPort = 1, .hostAddress = "192.0.2.7"}});
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().message, "the node has no address 192.0.2.7");
}

TEST_F(PublishedPortsTest, OutliveTheServerWithTheirContainers) {
  std::vector<api::Port> before;
  std::string rules;
  {
    PublishedPorts ports(folder_);
    ASSERT_TRUE(ports.load({}).ok());
    for (const char* container : {"a.1", "gone.1"}) {
      ASSERT_TRUE(ports.reserve(container, {{.port = 80}}).ok());
      ASSERT_TRUE(*ports.lead_to(container, "10.137.0.5"));
    }
    before = ports.of("a.1");
    ASSERT_TRUE(ports.release("gone.1"));
    rules = ports.local_rules();
    ASSERT_TRUE(ports.reserve("gone.1", {{.port = 81}}).ok());
    ASSERT_TRUE(*ports.lead_to("gone.1", "10.137.0.6"));
  }
  PublishedPorts ports(folder_);
  ASSERT_TRUE(ports.load({"a.1"}).ok());
  EXPECT_EQ(ports.of("a.1"), before);
  EXPECT_EQ(ports.local_rules(), rules);
  EXPECT_TRUE(ports.of("gone.1").empty());
}

TEST(PublishedPort, AsText) {
  EXPECT_EQ(to_text({.port = 80, .hostPort = 8888, .hostAddress = "127.0.0.1"}),
            "127.0.0.1:8888->80/tcp");
}

}  // namespace

}  // namespace tessera::local
