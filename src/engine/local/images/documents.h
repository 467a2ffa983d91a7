#pragma once
// The documents an image is made of: index, manifest, configuration. OCI's and docker's alike.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/container.h"
#include "api/images.h"
#include "base/result.h"
#include "base/units.h"
#include "engine/local/containerd/types.h"

namespace tessera::local {

// Manifests and configurations are kilobytes; registries refuse them above 4 MiB.
inline constexpr size_t kDocumentLimitBytes = size_t{8} << 20;

struct Platform {
  std::string os, architecture, variant;
  bool operator==(const Platform&) const = default;
};
// "linux/amd64".
std::string text(const Platform& platform);
// Of the machine that we were built for.
Platform own_platform();

struct IndexEntry {
  Descriptor descriptor;
  Platform platform;  // all empty when the index does not say
  Labels annotations;
};

struct Index {
  std::vector<IndexEntry> entries;
};

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;  // lowest first
};

// What an image says about the containers made from it.
struct ImageConfig {
  std::vector<std::string> env;  // KEY=value
  std::vector<std::string> entrypoint, cmd;
  std::string user;  // name, uid, name:group or uid:gid
  std::string working_dir;
  std::string stop_signal;
  Labels labels;
  std::vector<std::string> exposed_ports;  // "8888/tcp"
  std::vector<std::string> volumes;
  std::optional<api::HealthCheck> health_check;
  Platform platform;
  Instant created;                    // 0 when it does not say
  std::vector<std::string> diff_ids;  // digests of the layers uncompressed, lowest first
};

// Errors are sentences about "it", to be put in context with .in("...").
Result<std::variant<Index, Manifest>> parse_manifest(std::string_view json);
Result<Manifest> parse_single_manifest(std::string_view json);
Result<ImageConfig> parse_image_config(std::string_view json);
// The same as docker inspect tells it, without what only a store knows (its names and sizes).
Result<api::ImageDetails> parse_image_details(std::string_view json);
// The names inside a docker-save archive's manifest.json, an empty name for an image without one.
Result<std::vector<std::string>> parse_saved_names(std::string_view json);

// What a manifest says that it is: some registries and tools know no better.
std::string media_type_of(std::string_view manifest_json);
// The entry for a platform; the only one when the index names no platforms.
Result<IndexEntry> choose(const Index& index, const Platform& platform);

// The name of the snapshot that has all layers up to each one.
std::vector<std::string> chain_ids(const std::vector<std::string>& diff_ids);

}  // namespace tessera::local
