#include "server/secret_box.h"

#include <sys/stat.h>

#include <vector>

#include "base/crypto.h"
#include "base/file.h"
#include "base/text.h"

namespace tessera::server {

namespace {

// "sealed:1:KEY-ID:BASE64". The number is for the day when the way of sealing changes.
constexpr std::string_view kMark = "sealed:1:";
constexpr size_t kKeyFileLimit = 1024;

Error key_error(std::string message, std::string hint) {
  return error(Code::kPermissionDenied, std::move(message), {}, std::move(hint));
}

}  // namespace

Result<SecretBox> SecretBox::load(std::string path) {
  if (!exists(path)) return SecretBox(std::move(path), {});
  TRY(std::string text, read_file(path, kKeyFileLimit));
  auto key = from_hex(trim(text));
  if (!key.ok() || key->size() != kSealKeyBytes)
    return key_error(cat(path, " holds no key of ", kSealKeyBytes, " bytes in hexadecimal"),
                     "restore it from a backup");
  if (::chmod(path.c_str(), 0600) != 0) return errno_error(cat("chmod ", path));
  return SecretBox(std::move(path), std::move(*key));
}

SecretBox SecretBox::of_this_run() {
  static const std::string key = random_bytes(kSealKeyBytes);
  return SecretBox({}, key);
}

Status SecretBox::make_key() {
  if (!key_.empty()) return Ok;
  key_ = random_bytes(kSealKeyBytes);
  return write_file(path_, to_hex(key_) + "\n", 0600);
}

std::string SecretBox::key_id() const {
  return to_hex(sha256("tessera key id " + key_)).substr(0, 8);
}

bool SecretBox::is_sealed(std::string_view body) {
  return body.starts_with(kMark);
}

std::string SecretBox::seal(std::string_view body, std::string_view name) const {
  return cat(kMark, key_id(), ":", to_base64(tessera::seal(key_, body, name)));
}

Result<std::string> SecretBox::open(std::string_view sealed, std::string_view name) const {
  std::vector<std::string> parts = split(sealed, ':');
  if (parts.size() != 4) return error(Code::kInternal, "is not of the form in which it was sealed");
  if (key_.empty())
    return key_error(cat("the secrets are sealed and their key, ", path_, ", is missing"),
                     "restore it from a backup; nothing else opens them");
  if (parts[2] != key_id())
    return key_error(cat("the secrets are sealed with another key than the one in ", path_),
                     cat("restore the key whose id is ", parts[2], " from a backup"));
  TRY(std::string bytes, from_base64(parts[3]));
  return open_sealed(key_, bytes, name);
}

}  // namespace tessera::server
