#include "net/http.h"

#include <gtest/gtest.h>

#include "net/head.h"

namespace tessera::net {
namespace {

TEST(Url, EncodesAllButUnreserved) {
  EXPECT_EQ(url_encode("a-Z_0.9~"), "a-Z_0.9~");
  EXPECT_EQ(url_encode("a b/c?d=e&f%"), "a%20b%2Fc%3Fd%3De%26f%25");
  EXPECT_EQ(url_encode("é\n"), "%C3%A9%0A");
}

TEST(Url, DecodeUndoesEncode) {
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  auto back = url_decode(url_encode(all));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, all);
}

TEST(Url, BrokenEscapesAreRefused) {
  for (std::string_view text : {"%", "%4", "a%zz", "%0g", "%00", "%-1"}) {
    auto decoded = url_decode(text);
    ASSERT_FALSE(decoded.ok()) << text;
    EXPECT_EQ(decoded.error().code, Code::kInvalid);
  }
}

TEST(Target, SplitsAndDecodes) {
  struct Case {
    std::string_view target;
    std::string path;
    Params params;
  };
  const Case cases[] = {
      {"/", "/", {}},
      {"/a%20b/c", "/a b/c", {}},
      {"/a?x=1&y=2", "/a", {{"x", "1"}, {"y", "2"}}},
      {"/a?x=1&x=2", "/a", {{"x", "1"}, {"x", "2"}}},
      {"/a?flag&empty=&=v", "/a", {{"flag", ""}, {"empty", ""}, {"", "v"}}},
      {"/a?s=a+b%2Bc%26d", "/a", {{"s", "a b+c&d"}}},
      {"/a+b?", "/a+b", {}},
      {"/a?x=1&&y=a=b#part", "/a", {{"x", "1"}, {"y", "a=b"}}},
  };
  for (const Case& one : cases) {
    auto target = parse_target(one.target);
    ASSERT_TRUE(target.ok()) << one.target;
    EXPECT_EQ(target->path, one.path) << one.target;
    EXPECT_EQ(target->params, one.params) << one.target;
  }
  EXPECT_FALSE(parse_target("").ok());
  EXPECT_FALSE(parse_target("http://host/").ok());
  EXPECT_FALSE(parse_target("/a?b=%").ok());
}

TEST(Target, FormatIsUndoneByParse) {
  Params params{{"label selector", "a=b,c!=d"}, {"x", ""}, {"x", "+&%#?/é"}};
  auto target = parse_target(format_target("/api/v1/a b/%?#", params));
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->path, "/api/v1/a b/%?#");
  EXPECT_EQ(target->params, params);
}

TEST(Fields, HeadersIgnoreCaseAndParamsDoNot) {
  Headers headers{{"Content-Type", "a"}, {"X", "1"}, {"x", "2"}};
  EXPECT_EQ(headers.get("content-TYPE"), "a");
  EXPECT_EQ(headers.all("x"), (std::vector<std::string>{"1", "2"}));
  headers.set("X", "3");
  EXPECT_EQ(headers.all("x"), (std::vector<std::string>{"3"}));
  EXPECT_EQ(headers.find("missing"), nullptr);
  EXPECT_EQ(headers.get("missing", "otherwise"), "otherwise");

  Params params{{"X", "1"}};
  EXPECT_EQ(params.find("x"), nullptr);
}

TEST(Head, ValuesCannotSmuggleHeaders) {
  std::string head = response_head({200, {{"X", "a\r\nY: b"}}, "body"}, Framing::kLength, true);
  EXPECT_EQ(head, "HTTP/1.1 200 OK\r\nX: a  Y: b\r\nContent-Length: 4\r\n\r\n");
  head = request_head({"GET /\r\n", "/", {}, {}, ""});
  EXPECT_EQ(head, "GET /   / HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

TEST(Head, SaysHowTheBodyEnds) {
  EXPECT_EQ(response_head({204, {}, ""}, Framing::kLength, true),
            "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(response_head({200, {}, ""}, Framing::kChunked, false),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(request_head({"POST", "/a", {{"b", "c"}}, {{"Host", "h"}}, ""}),
            "POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
}

TEST(Head, FramesChunks) {
  EXPECT_EQ(frame_chunk(26, false).before, "1a\r\n");
  EXPECT_EQ(frame_chunk(26, false).after, "\r\n");
  EXPECT_EQ(frame_chunk(1, true).after, "\r\n0\r\n\r\n");
  EXPECT_EQ(frame_chunk(0, true).before, "");
  EXPECT_EQ(frame_chunk(0, true).after, "0\r\n\r\n");
  EXPECT_EQ(frame_chunk(0, false).after, "");
}

}  // namespace
}  // namespace tessera::net
