#include "engine/local/cgroup.h"

#include <gtest/gtest.h>

namespace tessera::local {
namespace {

TEST(ContainerIn, IsReadFromTheCgroupsOfAProcess) {
  constexpr std::string_view kFolder = "/tessera-k2/";
  struct Case {
    std::string_view text;
    std::string_view container;
  };
  const Case kCases[] = {
      {"12:devices:/tessera-k2/abc-0.1\n3:memory:/tessera-k2/abc-0.1\n", "abc-0.1"},
      {"0::/tessera-k2/abc-0.2\n", "abc-0.2"},
      {"0::/tessera-k2/abc-0.2/inner/group\n", "abc-0.2"},
      {"9:name=systemd:/user.slice\n8:pids:/tessera-k2/abc-1.1\n", "abc-1.1"},
      {"0::/tessera-other/abc-0.1\n", ""},
      {"0::/docker/tessera-k2/abc-0.1\n", ""},
      {"0::/\n", ""},
      {"", ""},
  };
  EXPECT_EQ(
      container_in("0::/tessera.slice/tessera-k2-abc-0.1.scope\n", "/tessera.slice/tessera-k2-"),
      "abc-0.1");
  for (const Case& c : kCases) EXPECT_EQ(container_in(c.text, kFolder), c.container) << c.text;
}

}  // namespace
}  // namespace tessera::local
