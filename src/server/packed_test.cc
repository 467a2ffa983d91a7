#include "server/packed.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace tessera::server {
namespace {

using namespace std::string_view_literals;

TEST(Packed, GivesBackWhatWentIn) {
  Rng rng(1);
  std::string random;
  for (int i = 0; i < 100'000; ++i) random += static_cast<char>(rng.below(256));
  const std::string kTexts[] = {"",
                                "{}",
                                std::string(1, '\0'),
                                "\x01",
                                std::string(1 << 20, 'x'),
                                random,
                                R"({"apiVersion":"tessera.dev/v1","kind":"Job"})"};
  for (const std::string& text : kTexts) {
    auto back = unpack(pack(text));
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(*back, text);
  }
}

TEST(Packed, TextThatIsNotPackedStaysAsItIs) {
  for (const char* text : {"", "{\"a\":1}", "x"}) EXPECT_EQ(*unpack(text), text);
}

// A body that a disk or a hand has damaged is a sentence, and nothing else.
TEST(Packed, DamageIsTold) {
  const std::string packed = pack(R"({"apiVersion":"tessera.dev/v1","kind":"Job","metadata":{}})");
  for (size_t length = 1; length < packed.size(); ++length)
    EXPECT_FALSE(unpack(packed.substr(0, length)).ok()) << length;
  Rng rng(2);
  for (int i = 0; i < 1'000; ++i) {
    std::string damaged = packed;
    damaged[1 + rng.below(damaged.size() - 1)] = static_cast<char>(rng.below(256));
    (void)unpack(damaged);
  }
}

// What was once stored is read for ever: a change of the dictionary would make it unreadable.
TEST(Packed, FirstDictionaryIsAsItWas) {
  constexpr std::string_view kStored =
      "\x01\xa3\x34\xa6\x4b\x8a\x12\x33\xf3\x50\xa2\xbb\x2c\x13\x6c\x56\x6d\x2d\x00"sv;
  auto text = unpack(std::string(kStored));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, R"({"apiVersion":"tessera.dev/v1","kind":"Job",)"
                   R"("metadata":{"name":"train","project":"vision"}})");
}

}  // namespace
}  // namespace tessera::server
