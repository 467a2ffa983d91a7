#include "cli/completion.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/reference.h"
#include "cli/session_pump.h"

namespace tessera::cli {
namespace {

using Words = std::vector<std::string>;

Words complete_line(std::string_view line) {
  static const std::vector<Command> kCommands = commands({});
  return complete(kCommands, split(line, ' '), [](const std::string& what) -> Words {
    return {cat(what, "-1"), cat(what, "-2")};
  });
}

TEST(Completion, KnowsCommandsFlagsValuesAndNames) {
  struct Case {
    std::string_view line;
    Words words;
  };
  const Case kCases[] = {
      {"im", {"image"}},
      {"image ", {"build", "import", "inspect", "ls", "prune", "pull", "rm"}},
      {"logs ", {"job-1", "job-2"}},
      {"logs job-1 ", {}},
      {"stop job-1 job", {"job-1", "job-2"}},
      {"get no", {"nodes"}},
      {"get nodes ", {"nodes-1", "nodes-2"}},
      {"get jobs -o y", {"yaml"}},
      {"get jobs --output j", {"json"}},
      {"logs --ti", {"--timestamps"}},
      {"run --pull ", {"missing", "always", "never"}},
      {"run --env-file ", {}},
      {"run -it --name x im", {"image-1", "image-2"}},
      {"run --sysc", {}},
      {"run busybox --", {}},
      {"exec job-1 ", {}},
      {"ps --project ", {"project-1", "project-2"}},
      {"nonsense ", {}},
  };
  for (const Case& c : kCases) EXPECT_EQ(complete_line(c.line), c.words) << c.line;
}

TEST(Commands, EachHasAnEntryInEveryText) {
  std::vector<Command> list = commands({});
  std::string all = overview(list), reference = reference_cli(list);
  for (const Command& command : list) {
    EXPECT_FALSE(command.doc.empty()) << command.name;
    EXPECT_LE(command.least, command.most) << command.name;
    EXPECT_TRUE(help(command).find(usage_line(command)) != std::string::npos);
    EXPECT_EQ(all.find(cat("\n  ", command.name, " ")) == std::string::npos, command.hidden);
    EXPECT_EQ(reference.find(cat("## tessera ", command.name, "\n")) == std::string::npos,
              command.hidden);
    std::vector<Flag> flags = all_flags(command);
    for (size_t i = 0; i < flags.size(); ++i) {
      EXPECT_FALSE(!flags[i].hidden && flags[i].doc.empty()) << command.name << flags[i].name;
      for (size_t j = i + 1; j < flags.size(); ++j)
        EXPECT_FALSE(flags[i].name == flags[j].name ||
                     (flags[i].letter && flags[i].letter == flags[j].letter))
            << command.name << " --" << flags[i].name;
    }
  }
}

TEST(Commands, HelpLinesFitTheScreen) {
  for (const Command& command : commands({}))
    for (const std::string& line : split(help(command), '\n'))
      EXPECT_LE(line.size(), 110u) << line;  // bytes; a few of them are not letters of their own
}

TEST(DetachKeys, AreFoundAlsoWhenTypedOneByOne) {
  DetachKeys keys;
  EXPECT_EQ(keys.filter("ab"), "ab");
  EXPECT_EQ(keys.filter("\x10"), "");
  EXPECT_EQ(keys.filter("x"), "\x10x");
  EXPECT_EQ(keys.filter("\x10\x10"), "\x10");
  EXPECT_EQ(keys.filter("\x11"), std::nullopt);
  EXPECT_EQ(DetachKeys().filter("ls\x10\x11"), std::nullopt);
  EXPECT_EQ(DetachKeys().filter("\x11\x10"), "\x11");
}

}  // namespace
}  // namespace tessera::cli
