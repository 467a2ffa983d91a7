#include "base/crypto.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <memory>

#include "base/check.h"

namespace tessera {

namespace {

constexpr size_t kNonceBytes = 12, kTagBytes = 16;
constexpr std::string_view kHex = "0123456789abcdef";

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { ::EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

int length_of(std::string_view text) {
  CHECK(text.size() < size_t{1} << 30);
  return static_cast<int>(text.size());
}

}  // namespace

std::string random_bytes(size_t count) {
  std::string out(count, '\0');
  size_t done = 0;
  while (done < count) {
    ssize_t got = ::getrandom(out.data() + done, count - done, 0);
    if (got < 0) continue;  // a signal came before the generator was ready
    done += static_cast<size_t>(got);
  }
  return out;
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

Result<std::string> from_hex(std::string_view text) {
  std::string out;
  bool fine = text.size() % 2 == 0 && text.find_first_not_of(kHex) == std::string_view::npos;
  if (!fine) return error(Code::kInvalid, "is not a hexadecimal number of whole bytes");
  for (size_t i = 0; i < text.size(); i += 2)
    out += static_cast<char>(kHex.find(text[i]) << 4 | kHex.find(text[i + 1]));
  return out;
}

std::string sha256(std::string_view bytes) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  ::SHA256(bytes_of(bytes), bytes.size(), bytes_of(out));
  return out;
}

std::string seal(std::string_view key, std::string_view plain, std::string_view context) {
  CHECK(key.size() == kSealKeyBytes);
  std::string nonce = random_bytes(kNonceBytes), body(plain.size(), '\0'), tag(kTagBytes, '\0');
  Cipher cipher(::EVP_CIPHER_CTX_new());
  int written = 0;
  bool fine = ::EVP_EncryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr, bytes_of(key),
                                   bytes_of(nonce)) == 1 &&
              ::EVP_EncryptUpdate(cipher.get(), nullptr, &written, bytes_of(context),
                                  length_of(context)) == 1 &&
              ::EVP_EncryptUpdate(cipher.get(), bytes_of(body), &written, bytes_of(plain),
                                  length_of(plain)) == 1 &&
              ::EVP_EncryptFinal_ex(cipher.get(), bytes_of(body) + written, &written) == 1 &&
              ::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1;
  CHECK(fine);
  return nonce + body + tag;
}

Result<std::string> open_sealed(std::string_view key, std::string_view sealed,
                                std::string_view context) {
  CHECK(key.size() == kSealKeyBytes);
  Error wrong = error(Code::kPermissionDenied, "was sealed with another key, or has been changed");
  if (sealed.size() < kNonceBytes + kTagBytes) return wrong;
  std::string_view nonce = sealed.substr(0, kNonceBytes);
  std::string_view body = sealed.substr(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes)), plain(body.size(), '\0');
  Cipher cipher(::EVP_CIPHER_CTX_new());
  int written = 0;
  bool fine = ::EVP_DecryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr, bytes_of(key),
                                   bytes_of(nonce)) == 1 &&
              ::EVP_DecryptUpdate(cipher.get(), nullptr, &written, bytes_of(context),
                                  length_of(context)) == 1 &&
              ::EVP_DecryptUpdate(cipher.get(), bytes_of(plain), &written, bytes_of(body),
                                  length_of(body)) == 1 &&
              ::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1;
  CHECK(fine);
  if (::EVP_DecryptFinal_ex(cipher.get(), bytes_of(plain) + written, &written) != 1) return wrong;
  return plain;
}

std::string to_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and a NUL, which it writes
  int length = ::EVP_EncodeBlock(bytes_of(out), bytes_of(bytes), length_of(bytes));
  out.resize(static_cast<size_t>(length));
  return out;
}

Result<std::string> from_base64(std::string_view text) {
  Error wrong = error(Code::kInvalid, "is not base64");
  if (text.size() % 4 != 0) return wrong;
  std::string out(text.size() / 4 * 3, '\0');
  int length = ::EVP_DecodeBlock(bytes_of(out), bytes_of(text), length_of(text));
  if (length < 0) return wrong;
  size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  out.resize(static_cast<size_t>(length) - padding);
  return out;
}

}  // namespace tessera
