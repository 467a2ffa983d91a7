#include <gtest/gtest.h>
#include <sched.h>

#include <csignal>
#include <memory>

#include "base/log.h"
#include "fixture.h"

int main(int argc, char** argv) {
  using namespace tessera::local;
  testing::InitGoogleTest(&argc, argv);
  ::signal(SIGPIPE, SIG_IGN);  // as the server does
  std::unique_ptr<Setting> setting;
  if (!testing::GTEST_FLAG(list_tests) && Setting::missing().empty()) {
    // Bridges and rules of the tests are nobody else's business.
    CHECK(::unshare(CLONE_NEWNET) == 0);
    setting = std::make_unique<Setting>();
  }
  return RUN_ALL_TESTS();
}
