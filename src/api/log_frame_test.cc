#include "api/log_frame.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::api {
namespace {

using namespace std::string_literals;

TEST(LogFrame, IsDockers) {
  EXPECT_EQ(log_frame(1, "out\n"), "\1\0\0\0\0\0\0\4out\n"s);
  EXPECT_EQ(log_frame(2, std::string(0x010203, 'x')).substr(0, 8), "\2\0\0\0\0\1\2\3"s);
}

TEST(LogFrame, IsTakenApartWhereverItWasCut) {
  const std::string whole = cat(log_frame(1, "one\n"), log_frame(2, "two"), log_frame(1, ""),
                                log_frame(2, " and a half\n"), log_frame(1, "three\n"));
  for (size_t length = 1; length <= whole.size(); ++length) {
    std::string out, err;
    LogFrames frames([&](int stream, std::string_view text) {
      (stream == 1 ? out : err) += text;
      return true;
    });
    for (size_t at = 0; at < whole.size(); at += length)
      ASSERT_TRUE(frames.feed(std::string_view(whole).substr(at, length)));
    EXPECT_EQ(out, "one\nthree\n") << length;
    EXPECT_EQ(err, "two and a half\n") << length;
  }
}

TEST(LogFrame, EndsWhenToldToOrWhenThereIsNone) {
  int taken = 0;
  LogFrames once([&](int, std::string_view) { return ++taken, false; });
  EXPECT_FALSE(once.feed(log_frame(1, "a") + log_frame(1, "b")));
  EXPECT_EQ(taken, 1);
  for (const std::string& text : {"plain text"s, "\3\0\0\0\0\0\0\1x"s, "\1\1\0\0\0\0\0\1x"s}) {
    LogFrames frames([&](int, std::string_view) { return ADD_FAILURE(), true; });
    EXPECT_FALSE(frames.feed(text));
  }
}

}  // namespace
}  // namespace tessera::api
