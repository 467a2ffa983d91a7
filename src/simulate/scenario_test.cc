#include "simulate/scenario.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"

namespace tessera::simulate {
namespace {

// Every file of sim/scenarios comes out as it says.
TEST(Scenario, GoldenFiles) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/sim/scenarios")) {
    auto text = tessera::read_file(entry.path().string());
    ASSERT_TRUE(text.ok());
    auto scenario = parse_scenario(*text);
    ASSERT_TRUE(scenario.ok()) << entry.path() << scenario.error().text();
    EXPECT_FALSE(scenario->expected.empty()) << entry.path();
    std::vector<std::string> happened = play(*scenario);
    Status same = compare(*scenario, happened);
    EXPECT_TRUE(same.ok()) << entry.path() << "\n"
                           << (same.ok() ? "" : same.error().text()) << "\n"
                           << join(happened, "\n");
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(Scenario, ADifferenceIsTold) {
  auto scenario = parse_scenario("node n gpus 1\nat 0s job a gpus 1 runs 1s\n---\nnever\n");
  ASSERT_TRUE(scenario.ok());
  Status same = compare(*scenario, play(*scenario));
  ASSERT_FALSE(same.ok());
  EXPECT_NE(same.error().text().find("default/a starts on n[0]\nexpected was: never"),
            std::string::npos)
      << same.error().text();
  scenario->expected = {"0s default/a starts...", "1s default/a ends"};
  EXPECT_TRUE(compare(*scenario, play(*scenario)).ok());
  scenario->expected.pop_back();
  EXPECT_FALSE(compare(*scenario, play(*scenario)).ok());
}

TEST(Scenario, MistakesSayWhere) {
  struct Case {
    std::string text, message;
  };
  const Case cases[] = {
      {"node\n", "a node needs a name"},
      {"\nnode n gpu 1\n", "line 2"},
      {"node n gpus\n", "needs a value behind it"},
      {"node n gpus many\n", "'many' is not a whole number"},
      {"project a\n", "project vision max 8"},
      {"policy best\n", "choose among"},
      {"at 1s eat n\n", "'eat' is not what can happen"},
      {"at 1s cordon n\n", "there is no node 'n'"},
      {"node n gpus 1\nat 1s fence n/1\n", "there is no device"},
      {"at 1s job a gpus\n", "needs a value behind it"},
      {"at 1s job a colour red\n", "'colour' is none of"},
      {"if\n", "none of node, project, policy, at"},
  };
  for (const Case& one : cases) {
    auto scenario = parse_scenario(one.text);
    ASSERT_FALSE(scenario.ok()) << one.text;
    EXPECT_NE(scenario.error().text().find(one.message), std::string::npos)
        << scenario.error().text();
  }
}

}  // namespace
}  // namespace tessera::simulate
