#include "engine/local/images/dockerfile.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::local {
namespace {

TEST(Dockerfile, NamesTheImagesThatItBeginsFrom) {
  struct Case {
    std::string text;
    std::map<std::string, std::string> args;
    std::string images;  // joined by blanks
  };
  const Case cases[] = {
      {"FROM busybox", {}, "busybox"},
      {"# a comment\n\n  from busybox:1 AS one\nRUN true\n", {}, "busybox:1"},
      {"FROM --platform=linux/amd64 a/b@sha256:0\n", {}, "a/b@sha256:0"},
      {"FROM scratch\nCOPY x /\n", {}, ""},
      {"", {}, ""},
      {"FROM a AS first\nFROM first\nFROM FIRST\n", {}, "a"},
      {"FROM a\nFROM b\nFROM a\n", {}, "a b"},
      {"ARG V=1\nFROM a:$V\n", {}, "a:1"},
      {"ARG V=1\nFROM a:${V}-slim\n", {{"V", "2"}}, "a:2-slim"},
      {"ARG A B=\"b\"\nFROM ${A:-none}/$B\n", {}, "none/b"},
      {"ARG A\nFROM x${A:+:$A}\n", {}, "x"},
      {"ARG R=reg:5000\nARG I=$R/app\nFROM $I\n", {}, "reg:5000/app"},
      {"FROM a\nARG V=9\nFROM b:$V\n", {{"V", "8"}}, "a b:"},
      {"FROM \\\n # in between\n  a \\\n AS x\nCOPY --from=x /y /\n", {}, "a"},
      {"FROM a\nCOPY --chown=1 --from=tools:2 /y /\n", {}, "a tools:2"},
      {"FROM a\nFROM b\nCOPY --from=0 /y /\n", {}, "a b"},
      {"FROM a\nRUN --mount=type=bind,from=c,target=/c ls --from=d\n", {}, "a c"},
      {"FROM a\r\nRUN true\r\n", {}, "a"},
      {"FROM\tspaced\tAS\tx\n", {}, "spaced"},
  };
  for (const Case& row : cases)
    EXPECT_EQ(join(base_images(row.text, row.args), " "), row.images) << row.text;
}

}  // namespace
}  // namespace tessera::local
