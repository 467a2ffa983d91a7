#pragma once
// For tests: a docker-registry on a free port of the loopback interface, with one account.

#include <sys/types.h>

#include <string>

#include "base/file.h"

namespace tessera::local {

class PrivateRegistry {
 public:
  static constexpr const char* kUser = "ada";
  static constexpr const char* kPassword = "analytical engine";

  explicit PrivateRegistry(const std::string& folder);  // for its data; must exist
  ~PrivateRegistry();
  PrivateRegistry(const PrivateRegistry&) = delete;

  const std::string& address() const { return address_; }  // "127.0.0.1:34567"
  // Copies skopeo's `source` ("oci:/layout:name") there as `name` ("app:1").
  void push(const std::string& source, const std::string& name) const;

 private:
  pid_t pid_ = -1;
  Fd log_;  // kept open: without a reader the registry would end
  std::string address_;
};

}  // namespace tessera::local
