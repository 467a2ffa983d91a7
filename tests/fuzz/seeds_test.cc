// The seeds, and what has broken something once, through the functions that take such texts: in
// every build, in a second.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "targets.h"

namespace tessera::fuzz {
namespace {

TEST(Fuzz, EverySeedOfEveryTarget) {
  for (const Target& target : targets()) {
    target.run("");
    int seeds = 0;
    std::filesystem::path folder(TESSERA_SOURCE_DIR "/tests/fuzz/seeds");
    for (const auto& file : std::filesystem::directory_iterator(folder / target.name)) {
      SCOPED_TRACE(file.path());
      auto text = read_file(file.path());
      ASSERT_TRUE(text.ok());
      target.run(*text);
      ++seeds;
    }
    EXPECT_GT(seeds, 0) << target.name;
  }
}

}  // namespace
}  // namespace tessera::fuzz
