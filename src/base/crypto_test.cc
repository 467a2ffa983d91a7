#include "base/crypto.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Crypto, DigestsAndEncodingsAreThoseOfTheStandards) {
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  for (std::string text : {"", "f", "fo", "foo", "foob", "fooba", "foobar"}) {
    EXPECT_EQ(from_base64(to_base64(text)).value(), text);
    EXPECT_EQ(from_hex(to_hex(text)).value(), text);
  }
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_FALSE(from_base64("Zm9").ok());
  EXPECT_FALSE(from_base64("Zm9*").ok());
  EXPECT_FALSE(from_hex("abc").ok());
  EXPECT_FALSE(from_hex("zz").ok());
}

TEST(Crypto, WhatIsSealedOpensOnlyWithKeyAndContextAndUnchanged) {
  std::string key = random_bytes(kSealKeyBytes);
  for (std::string plain : {std::string(), std::string("x"), std::string(100'000, 'y')}) {
    std::string sealed = seal(key, plain, "default/a");
    EXPECT_EQ(open_sealed(key, sealed, "default/a").value(), plain);
    EXPECT_NE(seal(key, plain, "default/a"), sealed) << "a nonce was used twice";
    EXPECT_FALSE(open_sealed(random_bytes(kSealKeyBytes), sealed, "default/a").ok());
    EXPECT_FALSE(open_sealed(key, sealed, "default/b").ok());
    for (size_t at : {size_t{0}, sealed.size() / 2, sealed.size() - 1}) {
      std::string changed = sealed;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      EXPECT_FALSE(open_sealed(key, changed, "default/a").ok()) << at;
    }
    EXPECT_FALSE(open_sealed(key, sealed.substr(0, 5), "default/a").ok());
  }
}

}  // namespace
}  // namespace tessera
