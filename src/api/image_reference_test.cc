#include "api/image_reference.h"

#include <gtest/gtest.h>

namespace tessera::api {
namespace {

constexpr const char* kDigest =
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

struct GoodCase {
  std::string text, normal, familiar;
};

TEST(ReferenceTest, NormalisesAsDockerDoes) {
  const std::string digest = kDigest;
  const GoodCase cases[] = {
      {"busybox", "docker.io/library/busybox:latest", "busybox:latest"},
      {"busybox:1.36", "docker.io/library/busybox:1.36", "busybox:1.36"},
      {"docker.io/busybox", "docker.io/library/busybox:latest", "busybox:latest"},
      {"index.docker.io/busybox", "docker.io/library/busybox:latest", "busybox:latest"},
      {"docker://busybox", "docker.io/library/busybox:latest", "busybox:latest"},
      {"team/app", "docker.io/team/app:latest", "team/app:latest"},
      {"pytorch/pytorch:2.3.0-cuda12.1", "docker.io/pytorch/pytorch:2.3.0-cuda12.1",
       "pytorch/pytorch:2.3.0-cuda12.1"},
      {"localhost/app", "localhost/app:latest", "localhost/app:latest"},
      {"localhost:5000/app:v1", "localhost:5000/app:v1", "localhost:5000/app:v1"},
      {"127.0.0.1:5000/a/b/c", "127.0.0.1:5000/a/b/c:latest", "127.0.0.1:5000/a/b/c:latest"},
      {"[::1]:5000/app", "[::1]:5000/app:latest", "[::1]:5000/app:latest"},
      {"REGISTRY/app", "REGISTRY/app:latest", "REGISTRY/app:latest"},
      {"nvcr.io/nvidia/cuda:12.4.1-base", "nvcr.io/nvidia/cuda:12.4.1-base",
       "nvcr.io/nvidia/cuda:12.4.1-base"},
      {"a.b/x__y/z---w", "a.b/x__y/z---w:latest", "a.b/x__y/z---w:latest"},
      {"busybox@" + digest, "docker.io/library/busybox@" + digest, "busybox@" + digest},
      {"busybox:1@" + digest, "docker.io/library/busybox@" + digest, "busybox@" + digest},
  };
  for (const GoodCase& row : cases) {
    Result<Reference> parsed = parse_reference(row.text);
    ASSERT_TRUE(parsed.ok()) << row.text << ": " << parsed.error().text();
    EXPECT_EQ(parsed->text(), row.normal) << row.text;
    EXPECT_EQ(parsed->familiar(), row.familiar) << row.text;
    EXPECT_EQ(*parse_reference(parsed->text()), *parsed) << row.text;
  }
}

struct BadCase {
  std::string text, sentence;
};

TEST(ReferenceTest, SaysWhatIsWrong) {
  const BadCase cases[] = {
      {"", "the image reference is empty"},
      {"docker://", "the image reference is empty"},
      {"https://docker.io/busybox", "the image reference 'https://docker.io/busybox' is a URL"},
      {"busy box", "the image reference 'busy box' has white space in it"},
      {"Busybox", "the image reference 'Busybox' has upper-case letters in its repository name"},
      {"busybox:",
       "the image reference 'busybox:' has the tag '', which is not up to 128 letters, "
       "digits, '_', '.' and '-'"},
      {"busybox:-x",
       "the image reference 'busybox:-x' has the tag '-x', which is not up to 128 "
       "letters, digits, '_', '.' and '-'"},
      {"a//b",
       "the image reference 'a//b' has the part '', which is not letters and digits joined "
       "by '.', '_' or '-'"},
      {"a/b_-c",
       "the image reference 'a/b_-c' has the part 'b_-c', which is not letters and digits "
       "joined by '.', '_' or '-'"},
      {"x___y",
       "the image reference 'x___y' has the part 'x___y', which is not letters and digits "
       "joined by '.', '_' or '-'"},
      {"host:99999/app",
       "the image reference 'host:99999/app' has the registry 'host:99999', which "
       "is not a host name or address with an optional port"},
      {"localhost:5000/", "the image reference 'localhost:5000/' names no repository"},
      {"busybox@sha256:12",
       "the image reference 'busybox@sha256:12' has a digest that is not "
       "'sha256:' and 64 lower-case hex digits"},
      {"busybox@latest",
       "the image reference 'busybox@latest' has a digest that is not 'sha256:' "
       "and 64 lower-case hex digits"},
  };
  for (const BadCase& row : cases) {
    Result<Reference> parsed = parse_reference(row.text);
    ASSERT_FALSE(parsed.ok()) << row.text;
    EXPECT_EQ(parsed.error().code, Code::kInvalid) << row.text;
    EXPECT_EQ(parsed.error().message, row.sentence);
  }
  EXPECT_FALSE(parse_reference("a.b/" + std::string(300, 'x')).ok());
  EXPECT_FALSE(parse_reference("busybox:" + std::string(129, 'x')).ok());
}

TEST(ReferenceTest, KnowsTheMachineItself) {
  for (const char* local :
       {"localhost", "localhost:5000", "127.0.0.1", "127.1.2.3:80", "[::1]:5000"})
    EXPECT_TRUE(is_loopback_registry(local)) << local;
  for (const char* away : {"docker.io", "localhost.example.org", "127.evil.com", "10.0.0.1:5000"})
    EXPECT_FALSE(is_loopback_registry(away)) << away;
}

}  // namespace
}  // namespace tessera::api
