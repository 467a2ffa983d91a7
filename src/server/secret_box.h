#pragma once
// Secrets at rest: sealed with a key that lies beside the store, so that a copy of the store alone
// (a backup, a disk image of it) tells nothing.

#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::server {

// Owned by whoever runs the control loop; used on its thread.
class SecretBox {
 public:
  // Reads the key from the file, which need not be there yet.
  static Result<SecretBox> load(std::string path);
  // With a key that this process alone has: for simulations, whose stores do not outlive it.
  static SecretBox of_this_run();

  // Writes a new key to the file (mode 0600) when there was none.
  Status make_key();

  // `name` is the object's; a body that is moved to another one does not open.
  std::string seal(std::string_view body, std::string_view name) const;
  // kPermissionDenied, with a sentence for the admin, when the key is missing or another one.
  Result<std::string> open(std::string_view sealed, std::string_view name) const;
  static bool is_sealed(std::string_view body);

 private:
  SecretBox(std::string path, std::string key) : path_(std::move(path)), key_(std::move(key)) {}
  // What tells keys apart without telling anything about them.
  std::string key_id() const;

  std::string path_;
  std::string key_;  // empty: there is none yet
};

}  // namespace tessera::server
