#include "engine/local/images/documents.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::local {
namespace {

std::string digest(char digit) {
  return "sha256:" + std::string(64, digit);
}

std::string manifest(std::string_view config_type) {
  return cat(R"({"schemaVersion":2,"config":{"mediaType":")", config_type, R"(","digest":")",
             digest('a'), R"(","size":7},"layers":[{"mediaType":"t","digest":")", digest('b'),
             R"(","size":9}]})");
}

TEST(DocumentsTest, ReadsManifestsOfBothKinds) {
  for (const char* type : {"application/vnd.oci.image.config.v1+json",
                           "application/vnd.docker.container.image.v1+json"}) {
    Result<Manifest> parsed = parse_single_manifest(manifest(type));
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    EXPECT_EQ(parsed->config, (Descriptor{type, digest('a'), 7}));
    EXPECT_EQ(parsed->layers, (std::vector<Descriptor>{{"t", digest('b'), 9}}));
  }
}

struct BadCase {
  std::string json, sentence;
};

TEST(DocumentsTest, SaysWhyItIsNoImage) {
  const BadCase cases[] = {
      {"{", "it is not a valid image: its manifest is not valid JSON at byte 2"},
      {"{}", "it is not a valid image: it has no configuration"},
      {R"({"fsLayers":[]})", "it has docker's schema 1, which is no longer supported"},
      {manifest("application/vnd.cncf.helm.config.v1+json"),
       "it is not a container image but an artifact of the type "
       "'application/vnd.cncf.helm.config.v1+json'"},
      {R"({"config":{"digest":"sha256:1"}})",
       "it is not a valid image: the digest of its configuration is 'sha256:1'"},
      {cat(R"({"config":{"digest":")", digest('a'), R"("}})"),
       "it is not a valid image: its configuration has no size"},
      {R"({"manifests":[]})",
       "it is not a valid image: there is an index where a manifest must be"},
  };
  for (const BadCase& row : cases) {
    Result<Manifest> parsed = parse_single_manifest(row.json);
    ASSERT_FALSE(parsed.ok()) << row.json;
    EXPECT_EQ(parsed.error().message, row.sentence);
  }
}

TEST(DocumentsTest, TellsConfigurationsInDockersWords) {
  auto told = parse_image_details(R"({
    "created": "2026-01-31T12:00:00Z", "architecture": "arm64", "variant": "v8", "os": "linux",
    "config": {"Cmd": ["c"], "ExposedPorts": {"8888/tcp": {}}, "Volumes": {"/data": {}},
      "Healthcheck": {"Test": ["CMD-SHELL", "true"], "Interval": 5000000000, "Retries": 3}},
    "rootfs": {"type": "layers", "diff_ids": []}})");
  ASSERT_TRUE(told.ok()) << told.error().text();
  EXPECT_EQ(cat(told->Os, "/", told->Architecture, "/", told->Variant), "linux/arm64/v8");
  EXPECT_EQ(told->Config.Cmd, std::vector<std::string>{"c"});
  EXPECT_TRUE(told->Config.ExposedPorts.contains("8888/tcp"));
  EXPECT_TRUE(told->Config.Volumes.contains("/data"));
  EXPECT_EQ(told->Config.Healthcheck,
            (api::ImageHealthcheck{{"CMD-SHELL", "true"}, 5'000'000'000, 0, 0, 3}));
  EXPECT_FALSE(parse_image_details("{").ok());
}

TEST(DocumentsTest, ReadsConfigurations) {
  Result<ImageConfig> parsed = parse_image_config(cat(R"({
    "created": "2026-01-31T12:00:00.5Z", "architecture": "amd64", "os": "linux",
    "config": {"Env": ["A=1"], "Entrypoint": ["/e"], "Cmd": ["c", "d"], "User": "app:users",
      "WorkingDir": "/w", "StopSignal": "SIGINT", "Labels": {"k": "v"},
      "ExposedPorts": {"80/tcp": {}}, "Volumes": {"/data": {}}},
    "rootfs": {"type": "layers", "diff_ids": [")",
                                                      digest('1'), R"("]}})"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->env, std::vector<std::string>{"A=1"});
  EXPECT_EQ(parsed->entrypoint, std::vector<std::string>{"/e"});
  EXPECT_EQ(parsed->cmd, (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(parsed->user, "app:users");
  EXPECT_EQ(parsed->working_dir, "/w");
  EXPECT_EQ(parsed->stop_signal, "SIGINT");
  EXPECT_EQ(parsed->labels, (Labels{{"k", "v"}}));
  EXPECT_EQ(parsed->exposed_ports, std::vector<std::string>{"80/tcp"});
  EXPECT_EQ(parsed->volumes, std::vector<std::string>{"/data"});
  EXPECT_EQ(text(parsed->platform), "linux/amd64");
  EXPECT_EQ(format_instant(parsed->created), "2026-01-31T12:00:00.500Z");
  EXPECT_EQ(parsed->diff_ids, std::vector<std::string>{digest('1')});
}

TEST(DocumentsTest, ReadsConfigurationsWithNulls) {
  Result<ImageConfig> parsed =
      parse_image_config(R"({"config":{"Env":null,"Entrypoint":null,"Cmd":["sh"],"Labels":null}})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_TRUE(parsed->env.empty());
  EXPECT_EQ(parsed->cmd, std::vector<std::string>{"sh"});
}

TEST(DocumentsTest, ReadsTheNamesOfSavedImages) {
  EXPECT_EQ(*parse_saved_names(R"([{"RepoTags":["a:1","b:2"]},{"RepoTags":null}])"),
            (std::vector<std::string>{"a:1", "b:2", ""}));
  EXPECT_FALSE(parse_saved_names("[]").ok());
}

IndexEntry entry(char digit, Platform platform) {
  return {{"m", digest(digit), 1}, std::move(platform), {}};
}

TEST(DocumentsTest, ChoosesThePlatform) {
  Index index{{entry('0', {"unknown", "unknown", ""}), entry('1', {"linux", "amd64", "v3"}),
               entry('2', {"linux", "amd64", ""}), entry('3', {"linux", "arm64", "v8"})}};
  EXPECT_EQ(choose(index, {"linux", "amd64", ""})->descriptor.digest, digest('2'));
  EXPECT_EQ(choose(index, {"linux", "arm64", "v8"})->descriptor.digest, digest('3'));
  EXPECT_EQ(choose(index, {"linux", "riscv64", ""}).error().message,
            "there is no image for linux/riscv64 in it: it has linux/amd64/v3, linux/amd64, "
            "linux/arm64/v8");
  EXPECT_EQ(choose({{entry('4', {})}}, own_platform())->descriptor.digest, digest('4'));
  EXPECT_EQ(choose({}, {"linux", "amd64", ""}).error().message,
            "there is no image for linux/amd64 in it: it names no platform");
}

TEST(DocumentsTest, ChainsLayersAsTheSpecificationSays) {
  // Of the OCI image specification: ChainID(A, B) = Digest(ChainID(A) + " " + DiffID(B)).
  std::vector<std::string> chain = chain_ids({digest('a'), digest('b')});
  EXPECT_EQ(chain[0], digest('a'));
  EXPECT_EQ(chain[1], "sha256:ccd722928bd92476ba1745586fed6e45a102504185ad88cd89e01ff116fd146c");
}

}  // namespace
}  // namespace tessera::local
