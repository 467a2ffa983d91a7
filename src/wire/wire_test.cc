#include <gtest/gtest.h>

#include "api/codec.h"
#include "api/job.h"
#include "base/text.h"
#include "wire/json.h"
#include "wire/yaml.h"

namespace tessera {
namespace {

Result<api::Job> job_from_yaml(std::string_view text) {
  TRY(Value document, wire::parse_yaml(text));
  return schema::decode<api::Job>(document);
}

constexpr std::string_view kJob = R"(
metadata:
  name: train
  labels: {team: vision}
spec:
  image: pytorch:2.4
  command: [python, train.py]
  env: {EPOCHS: "3"}
  resources:
    gpus: 0.25
    gpuMemory: 10Gi
    accelerator: {model: H100}
  maxRuntime: 1h30m
  retries: 2
)";

TEST(Wire, AJobComesThroughYamlAndJsonUnchanged) {
  auto job = job_from_yaml(kJob);
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(job->spec.resources.gpus, MilliGpu{250});
  EXPECT_EQ(job->spec.resources.gpuMemory, MiB{10240});
  EXPECT_EQ(job->spec.maxRuntime, Millis{5'400'000});

  Value tree = schema::encode(*job);
  auto by_json = wire::parse_json(wire::to_json(tree));
  ASSERT_TRUE(by_json.ok());
  EXPECT_EQ(*schema::decode<api::Job>(*by_json), *job);
  auto by_yaml = wire::parse_yaml(wire::to_yaml(tree));
  ASSERT_TRUE(by_yaml.ok());
  EXPECT_EQ(*schema::decode<api::Job>(*by_yaml), *job);
}

// D8: what is not understood is refused, with its line and the nearest word that is.
TEST(Wire, BadManifestsNameTheFieldTheLineAndTheRemedy) {
  struct Case {
    std::string_view yaml;
    std::string_view sentence;
  };
  const Case kCases[] = {
      {"spec:\n  imag: x", "spec.imag: unknown field (line 2) (did you mean image?)"},
      {"spec: {}", "spec.image: is required (line 1) (for example busybox:latest)"},
      {"spec: {image: x, resources: {gpus: 0.2505}}",
       "spec.resources.gpus: has more than three decimals (line 1)"},
      {"spec:\n  image: x\n  replicas: 0", "spec.replicas: must be at least 1, not 0 (line 3)"},
      {"spec: {image: 7}",
       "spec.image: must be a string, not a whole number (line 1) (put it in quotes)"},
      {"spec: {image: x, resources: {gpuMemory: 10Gb}}",
       "spec.resources.gpuMemory: '10Gb' is not a size (line 1) (write it like 10Gi, 512Mi or 8G)"},
      {"spec: {image: x, pullPolicy: Allways}",
       "spec.pullPolicy: 'Allways' is not one of IfNotPresent, Always, Never (line 1) (did you "
       "mean Always?)"},
      {"spec: {image: x, env: {1A: b}}",
       "spec.env.1A: '1A' is not a name of an environment variable (line 1)"},
      {"spec: {image: x, image: y}", "spec.image: is given twice (line 1)"},
      {"spec: {image: x, volumes: [{source: /a/../b, target: /c}]}",
       "spec.volumes[0].source: '/a/../b' must be an absolute path without '..' (line 1)"},
      {"spec: {\"im\\nage\": x}", "spec.im\\nage: unknown field (line 1) (did you mean image?)"},
      {"spec:\n  image: \xBD", "not valid YAML at line 2: a byte that is not UTF-8"},
      {"spec:\n  image: \x1B[1m", "not valid YAML at line 2: a control character"},
  };
  for (const Case& row : kCases) {
    auto job = job_from_yaml(row.yaml);
    ASSERT_FALSE(job.ok()) << row.yaml;
    EXPECT_EQ(job.error().text(), row.sentence);
  }
}

// The cases of RFC 3629: overlong forms, surrogates, what lies beyond U+10FFFF, what is cut short.
TEST(Wire, YamlIsUtf8) {
  for (std::string_view text : {"ü", "日本語", "\U0001F680",
                                "\xEF\xBB\xBF"
                                "a: b",
                                "\xF4\x8F\xBF\xBD"})
    EXPECT_TRUE(wire::parse_yaml(text).ok()) << text;
  for (std::string_view text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\x80", "\xED\xA0\x80", "\xF0\x8F\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE6\x97", "a\xFF"})
    EXPECT_FALSE(wire::parse_yaml(text).ok());
}

TEST(Wire, YamlStringsThatLookLikeOtherThingsStayStrings) {
  for (std::string text :
       {"true", "12", "1.5", "null", "~", "", "a: b", "# x", "line\nbreak", "ü", "1e3", "-"}) {
    auto back = wire::parse_yaml(wire::to_yaml(Value(Value::List{Value(text)})));
    ASSERT_TRUE(back.ok()) << text;
    ASSERT_TRUE((*back->list())[0].string()) << text;
    EXPECT_EQ(*(*back->list())[0].string(), text);
  }
}

TEST(Wire, JsonIsReadAndWrittenExactly) {
  struct Case {
    std::string_view text, again;  // what is written of it; empty: the same
  };
  for (const Case& row : std::initializer_list<Case>{
           {"null", ""},
           {"[true,false,[],{}]", ""},
           {"9223372036854775807", ""},
           {"-9223372036854775808", ""},
           {"9223372036854775808", "9223372036854776000.0"},  // beyond what integers hold here
           {"0.1", ""},
           {"1.0", ""},
           {"1.7976931348623157e308", ""},
           {R"("ü \u00fc \ud83d\ude80 \" \\ \n \u0000")", R"("ü ü 🚀 \" \\ \n \u0000")"},
           {R"({"b":1,"a":{"b":[1,2]}})", ""},  // keys keep their order
           {" [ 1 , 2 ] ", "[1,2]"},
       }) {
    auto value = wire::parse_json(row.text);
    ASSERT_TRUE(value.ok()) << row.text;
    EXPECT_EQ(wire::to_json(*value), row.again.empty() ? row.text : row.again);
  }
  EXPECT_EQ(wire::to_json(Value("a\xFF"
                                "b\xC3")),
            "\"a\uFFFDb\uFFFD\"");
  using namespace std::string_view_literals;
  for (const auto& [text, byte] :
       std::initializer_list<std::pair<std::string_view, int>>{{"", 1},
                                                               {"{", 2},
                                                               {"[1,]", 4},
                                                               {"[1] x", 5},
                                                               {"1\0"sv, 2},
                                                               {"[01]", 3},
                                                               {"1e999", 1},
                                                               {"NaN", 1},
                                                               {"\"\x01\"", 2},
                                                               {"\"\xFF\"", 2},
                                                               {"\"\\udc00\"", 9},
                                                               {"\"\\ud800x\"", 2},
                                                               {"'a'", 1},
                                                               {"[1 /* no */]", 4}}) {
    auto value = wire::parse_json(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().text(), cat("not valid JSON at byte ", byte)) << text;
  }
}

TEST(Wire, DepthIsBounded) {
  std::string deep(10'000, '[');
  EXPECT_FALSE(wire::parse_json(deep).ok());
  std::string yaml;
  for (int i = 0; i < 100; ++i) yaml += "[";
  for (int i = 0; i < 100; ++i) yaml += "]";
  EXPECT_FALSE(wire::parse_yaml(yaml).ok());
}

TEST(Wire, MergePatchFollowsRfc7396) {
  auto patch = [](std::string_view target, std::string_view change) {
    return wire::to_json(merge_patch(*wire::parse_json(target), *wire::parse_json(change)));
  };
  EXPECT_EQ(patch(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(patch(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(patch(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(patch(R"([1])", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
}

TEST(Wire, YamlDocumentsWithoutEndAreRefused) {
  auto read = wire::parse_yaml_stream("&&\"a\":\"b\",\"c\":\"d\"");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("more than 10000 documents"), std::string::npos)
      << read.error().text();
}

}  // namespace
}  // namespace tessera
