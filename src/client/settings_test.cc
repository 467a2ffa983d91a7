#include "client/settings.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "client/contexts.h"

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
    return resolve_settings(
        {.server = std::string(server), .context = context_, .project = std::string(project)},
        [this](std::string_view name) -> std::optional<std::string> {
          auto found = variables_.find(std::string(name));
          if (found == variables_.end()) return std::nullopt;
          return found->second;
        });
  }

  std::string context_;  // of the flag
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

TEST_F(SettingsTest, AServerThatIsNeitherSocketNorUrlIsRefused) {
  for (std::string wrong : {"gpu1", "http://gpu1"})
    EXPECT_EQ(resolve(wrong).error().text(),
              cat("server: '", wrong, "' is neither the path of a Unix socket nor a URL (write it ",
                  "like /run/tessera/tessera.sock or https://gpu1:7443)"));
  for (std::string wrong : {"https://", "https://gpu1:x", "https://gpu1:0", "https://gpu1/x"})
    EXPECT_EQ(resolve(wrong).error().text(),
              cat("server: '", wrong, "' is not the URL of a server (write it like ",
                  "https://gpu1:7443)"));
}

TEST_F(SettingsTest, UrlsNameHostAndPort) {
  struct Case {
    std::string_view url;
    net::TcpAddress address;
  };
  for (const Case& row :
       {Case{"https://gpu1", {"gpu1", 7443}}, Case{"https://gpu1:1/", {"gpu1", 1}},
        Case{"https://[::1]:2", {"::1", 2}}, Case{"https://[::1]", {"::1", 7443}}})
    EXPECT_EQ(parse_url(row.url).value(), row.address) << row.url;
}

class ContextTest : public SettingsTest {
 protected:
  void SetUp() override {
    SettingsTest::SetUp();
    ContextFile file;
    ASSERT_TRUE(file.put({"lab", "https://lab:7443", "LAB CA", "lab-token", "vision"}).ok());
    ASSERT_TRUE(file.put({"hall", "https://hall:1", "HALL CA", "hall-token", ""}).ok());
    file.current = "lab";
    ASSERT_TRUE(write_contexts(folder_ + "/tessera", file).ok());
  }
  std::string shown(std::string_view server = {}) {
    auto settings = resolve(server);
    if (!settings.ok()) return settings.error().text();
    return cat(settings->host ? settings->host->address.text() : settings->socket, " ",
               settings->host ? settings->host->ca_pem : "", " ", settings->token, " ",
               settings->project);
  }
};

TEST_F(ContextTest, TheFileIsItsOwnersAlone) {
  struct stat found;
  ASSERT_EQ(::stat((folder_ + "/tessera/contexts.yaml").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(ContextTest, TheServerComesFromTheFirstThatNamesOne) {
  EXPECT_EQ(shown(), "lab:7443 LAB CA lab-token vision");
  variables_["TESSERA_CONTEXT"] = "hall";
  EXPECT_EQ(shown(), "hall:1 HALL CA hall-token default");
  variables_["TESSERA_SERVER"] = "/env.sock";
  EXPECT_EQ(shown(), "/env.sock   default");
  variables_["TESSERA_HOST"] = "https://lab";
  EXPECT_EQ(shown(), "lab:7443 LAB CA lab-token default") << "a URL that a context knows";
  variables_["TESSERA_TOKEN"] = "mine";
  EXPECT_EQ(shown(), "lab:7443 LAB CA mine default");
  variables_["TESSERA_HOST"] = "https://other";
  EXPECT_EQ(shown(), "other:7443  mine default");
  context_ = "hall";
  EXPECT_EQ(shown(), "hall:1 HALL CA mine default");
  EXPECT_EQ(shown("/flag.sock"), "/flag.sock  mine default");
}

TEST_F(ContextTest, OneThatIsNotThereIsNamedWithThoseThatAre) {
  context_ = "lba";
  EXPECT_EQ(shown(), "there is no context 'lba' (there are lab, hall)");
}

}  // namespace
}  // namespace tessera::client
