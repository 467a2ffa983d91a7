#pragma once
// Image references as docker reads them: "busybox" is docker.io/library/busybox:latest.

#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::api {

struct Reference {
  std::string registry;    // "docker.io", "localhost:5000"
  std::string repository;  // "library/busybox"
  std::string tag;         // empty when there is a digest: it alone says which image
  std::string digest;      // "sha256:..." or empty

  std::string name() const { return registry + "/" + repository; }
  // The whole reference, under which the image is kept.
  std::string text() const;
  // As short as docker would show it: "busybox:latest".
  std::string familiar() const;
  bool operator==(const Reference&) const = default;
};

// kInvalid with a sentence that says what is wrong with it.
Result<Reference> parse_reference(std::string_view text);

// As short as docker would show it; the text itself when it is no reference.
std::string familiar_name(std::string_view text);

// "sha256:" and 64 lower-case hex digits.
bool is_sha256_digest(std::string_view text);

// Whether a registry is this machine, where docker accepts plain http too.
bool is_loopback_registry(std::string_view registry);

}  // namespace tessera::api
