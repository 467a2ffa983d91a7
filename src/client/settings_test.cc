#include "client/settings.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/text.h"

namespace tessera::client {
namespace {

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/settings.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    variables_["XDG_CONFIG_HOME"] = folder_;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_config(std::string_view text) {
    ASSERT_TRUE(make_directories(folder_ + "/tessera").ok());
    ASSERT_TRUE(write_file(folder_ + "/tessera/config.yaml", text).ok());
  }
  Result<Settings> resolve(std::string_view server = {}, std::string_view project = {}) {
    return resolve_settings(server, project,
                            [this](std::string_view name) -> std::optional<std::string> {
                              auto found = variables_.find(std::string(name));
                              if (found == variables_.end()) return std::nullopt;
                              return found->second;
                            });
  }

  std::string folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(SettingsTest, DefaultsWhenNobodySaysAnything) {
  auto settings = resolve();
  ASSERT_TRUE(settings.ok()) << settings.error().text();
  EXPECT_EQ(settings->socket, "/run/tessera/tessera.sock");
  EXPECT_EQ(settings->project, "default");
  EXPECT_FALSE(settings->project_chosen);
}

TEST_F(SettingsTest, AFlagGoesBeforeTheEnvironmentAndThatBeforeTheFile) {
  write_config("server: /file.sock\nproject: from-file\n");
  EXPECT_EQ(resolve()->socket, "/file.sock");
  EXPECT_EQ(resolve()->project, "from-file");
  variables_["TESSERA_SERVER"] = "unix:///env.sock";
  variables_["TESSERA_PROJECT"] = "from-env";
  EXPECT_EQ(resolve()->socket, "/env.sock");
  EXPECT_EQ(resolve()->project, "from-env");
  EXPECT_EQ(resolve("/flag.sock", "from-flag")->socket, "/flag.sock");
  EXPECT_EQ(resolve("/flag.sock", "from-flag")->project, "from-flag");
  EXPECT_TRUE(resolve()->project_chosen);
}

TEST_F(SettingsTest, ABrokenFileIsAnErrorThatNamesIt) {
  write_config("sever: /x.sock\n");
  auto settings = resolve();
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(
      settings.error().text(),
      cat(folder_, "/tessera/config.yaml: sever: unknown field (line 1) (did you mean server?)"));
}

TEST_F(SettingsTest, AServerThatIsNoSocketIsRefused) {
  auto settings = resolve("https://example.org");
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.error().text(),
            "server: 'https://example.org' is not the path of a Unix socket (write it like "
            "/run/tessera/tessera.sock)");
}

}  // namespace
}  // namespace tessera::client
