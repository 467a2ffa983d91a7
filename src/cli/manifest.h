#pragma once
// Manifests: files of objects that users write.

#include <string>
#include <string_view>
#include <vector>

#include "cli/objects.h"

namespace tessera::cli {

// Larger than any manifest that a server would take in one body.
inline constexpr size_t kManifestLimit = 16 << 20;

struct Manifest {
  const ObjectKind* kind = nullptr;
  Value object;  // without envelope, checked against the kind, in its normal form
};

// All objects of a YAML stream, a JSON document or a list (`get -o yaml`); plain Kubernetes Jobs
// and Pods are translated. The first mistake is told with its line; nothing is returned then, so
// that nothing is half done.
Result<std::vector<Manifest>> read_manifests(std::string_view text);

// The same of a file, or of standard input for "-"; errors name it.
Result<std::vector<Manifest>> read_manifest_file(const Console& console, const std::string& path);

}  // namespace tessera::cli
