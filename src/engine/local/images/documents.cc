#include "engine/local/images/documents.h"

#include <algorithm>

#include "api/image_reference.h"
#include "base/text.h"
#include "engine/local/containerd/digest.h"
#include "wire/json.h"

namespace tessera::local {

namespace {

// Images have at most 127 layers; a document that says otherwise is not one.
constexpr size_t kLayerLimit = 1024;

constexpr std::string_view kImageConfigTypes[] = {
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
};

Error broken(std::string_view why) {
  return error(Code::kInvalid, cat("it is not a valid image: ", why));
}

const Value::List& list_of(const Value* value) {
  static const Value::List kEmpty;
  return value != nullptr && value->list() != nullptr ? *value->list() : kEmpty;
}

const Value::Map& map_of(const Value* value) {
  static const Value::Map kEmpty;
  return value != nullptr && value->map() != nullptr ? *value->map() : kEmpty;
}

std::vector<std::string> strings(const Value* value) {
  std::vector<std::string> out;
  for (const Value& row : list_of(value))
    if (row.string() != nullptr) out.push_back(*row.string());
  return out;
}

std::vector<std::string> keys(const Value* value) {
  std::vector<std::string> out;
  for (const auto& [key, ignored] : map_of(value)) out.push_back(key);
  return out;
}

Labels string_map(const Value* value) {
  Labels out;
  for (const auto& [key, row] : map_of(value))
    if (row.string() != nullptr) out[key] = *row.string();
  return out;
}

int64_t number_in(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found != nullptr && found->integer() != nullptr ? *found->integer() : 0;
}

// Docker's HEALTHCHECK; its durations are nanoseconds, 0 where it says nothing.
std::optional<api::HealthCheck> to_health_check(const Value* value) {
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> test = strings(value->find("Test"));
  if (test.empty()) return std::nullopt;
  api::HealthCheck out;
  out.disabled = test[0] == "NONE";
  if (test[0] == "CMD") out.command.assign(test.begin() + 1, test.end());
  if (test[0] == "CMD-SHELL" && test.size() == 2) out.command = {"/bin/sh", "-c", test[1]};
  auto duration = [&](std::string_view key) -> std::optional<Millis> {
    int64_t ms = number_in(*value, key) / 1'000'000;
    return ms > 0 ? std::optional(Millis{ms}) : std::nullopt;
  };
  out.interval = duration("Interval");
  out.timeout = duration("Timeout");
  out.startPeriod = duration("StartPeriod");
  out.startInterval = duration("StartInterval");
  if (int64_t retries = number_in(*value, "Retries"); retries > 0) out.retries = retries;
  return out;
}

Platform to_platform(const Value& value) {
  return {value.text("os"), value.text("architecture"), value.text("variant")};
}

Result<Descriptor> to_descriptor(const Value* value, std::string_view what) {
  if (value == nullptr || value->map() == nullptr) return broken(cat("it has no ", what));
  const Value* size = value->find("size");
  Descriptor out{value->text("mediaType"), value->text("digest"), 0};
  if (!api::is_sha256_digest(out.digest))
    return broken(cat("the digest of its ", what, " is ", quoted(out.digest)));
  if (size == nullptr || size->integer() == nullptr || *size->integer() < 0)
    return broken(cat("its ", what, " has no size"));
  out.size = *size->integer();
  return out;
}

Result<Index> to_index(const Value& document) {
  Index out;
  for (const Value& row : list_of(document.find("manifests"))) {
    TRY(Descriptor descriptor, to_descriptor(&row, "manifest"));
    const Value* platform = row.find("platform");
    out.entries.push_back({std::move(descriptor), platform ? to_platform(*platform) : Platform{},
                           string_map(row.find("annotations"))});
  }
  return out;
}

Result<Manifest> to_manifest(const Value& document) {
  Manifest out;
  TRY(out.config, to_descriptor(document.find("config"), "configuration"));
  const std::string& type = out.config.media_type;
  if (std::find(std::begin(kImageConfigTypes), std::end(kImageConfigTypes), type) ==
      std::end(kImageConfigTypes))
    return error(Code::kInvalid,
                 cat("it is not a container image but an artifact of the type ", quoted(type)));
  const Value::List& layers = list_of(document.find("layers"));
  if (layers.size() > kLayerLimit) return broken(cat("it has ", layers.size(), " layers"));
  for (const Value& row : layers) {
    TRY(Descriptor layer, to_descriptor(&row, "layer"));
    out.layers.push_back(std::move(layer));
  }
  return out;
}

}  // namespace

std::string text(const Platform& platform) {
  std::string out = cat(platform.os, "/", platform.architecture);
  return platform.variant.empty() ? out : cat(out, "/", platform.variant);
}

Platform own_platform() {
#if defined(__x86_64__)
  return {"linux", "amd64", ""};
#elif defined(__aarch64__)
  return {"linux", "arm64", "v8"};
#else
#error "name this architecture as Go does"
#endif
}

Result<std::variant<Index, Manifest>> parse_manifest(std::string_view json) {
  Result<Value> parsed = wire::parse_json(json);
  if (!parsed.ok()) return broken(cat("its manifest is ", parsed.error().message));
  const Value& document = *parsed;
  if (document.find("manifests") != nullptr) {
    TRY(Index index, to_index(document));
    return std::variant<Index, Manifest>(std::move(index));
  }
  if (document.find("fsLayers") != nullptr)
    return error(Code::kInvalid, "it has docker's schema 1, which is no longer supported", {},
                 "push it again with a current tool");
  TRY(Manifest manifest, to_manifest(document));
  return std::variant<Index, Manifest>(std::move(manifest));
}

Result<Manifest> parse_single_manifest(std::string_view json) {
  TRY(auto either, parse_manifest(json));
  if (Manifest* manifest = std::get_if<Manifest>(&either)) return std::move(*manifest);
  return broken("there is an index where a manifest must be");
}

Result<ImageConfig> parse_image_config(std::string_view json) {
  Result<Value> parsed = wire::parse_json(json);
  if (!parsed.ok()) return broken(cat("its configuration is ", parsed.error().message));
  const Value& document = *parsed;
  ImageConfig out;
  out.platform = to_platform(document);
  if (Result<Instant> created = parse_instant(document.text("created")); created.ok())
    out.created = *created;
  if (const Value* rootfs = document.find("rootfs"))
    out.diff_ids = strings(rootfs->find("diff_ids"));
  for (const std::string& diff_id : out.diff_ids)
    if (!api::is_sha256_digest(diff_id)) return broken(cat("it has the diff id ", quoted(diff_id)));
  const Value* config = document.find("config");
  if (config == nullptr) return out;
  out.env = strings(config->find("Env"));
  out.entrypoint = strings(config->find("Entrypoint"));
  out.cmd = strings(config->find("Cmd"));
  out.user = config->text("User");
  out.working_dir = config->text("WorkingDir");
  out.stop_signal = config->text("StopSignal");
  out.labels = string_map(config->find("Labels"));
  out.exposed_ports = keys(config->find("ExposedPorts"));
  out.volumes = keys(config->find("Volumes"));
  out.health_check = to_health_check(config->find("Healthcheck"));
  return out;
}

Result<api::ImageDetails> parse_image_details(std::string_view json) {
  TRY(ImageConfig common, parse_image_config(json));
  TRY(Value document, wire::parse_json(json));
  const Platform& platform = common.platform;
  api::ImageDetails out{.Created = common.created,
                        .Config = {.User = common.user,
                                   .Env = common.env,
                                   .Entrypoint = common.entrypoint,
                                   .Cmd = common.cmd,
                                   .WorkingDir = common.working_dir,
                                   .Labels = common.labels,
                                   .StopSignal = common.stop_signal},
                        .Architecture = platform.architecture,
                        .Variant = platform.variant,
                        .Os = platform.os,
                        .RootFS = {.Type = "layers", .Layers = common.diff_ids}};
  for (const std::string& port : common.exposed_ports) out.Config.ExposedPorts[port] = {};
  for (const std::string& folder : common.volumes) out.Config.Volumes[folder] = {};
  const Value* config = document.find("config");
  const Value* check = config == nullptr ? nullptr : config->find("Healthcheck");
  if (check == nullptr || check->map() == nullptr) return out;
  out.Config.Healthcheck = api::ImageHealthcheck{.Test = strings(check->find("Test")),
                                                 .Interval = number_in(*check, "Interval"),
                                                 .Timeout = number_in(*check, "Timeout"),
                                                 .StartPeriod = number_in(*check, "StartPeriod"),
                                                 .Retries = number_in(*check, "Retries")};
  return out;
}

Result<std::vector<std::string>> parse_saved_names(std::string_view json) {
  Result<Value> parsed = wire::parse_json(json);
  if (!parsed.ok()) return broken(cat("its manifest.json is ", parsed.error().message));
  std::vector<std::string> out;
  for (const Value& image : list_of(&*parsed)) {
    std::vector<std::string> names = strings(image.find("RepoTags"));
    if (names.empty()) names.emplace_back();
    out.insert(out.end(), names.begin(), names.end());
  }
  if (out.empty()) return broken("its manifest.json names no image");
  return out;
}

std::string media_type_of(std::string_view manifest_json) {
  Result<Value> parsed = wire::parse_json(manifest_json);
  std::string stated = parsed.ok() ? parsed->text("mediaType") : std::string();
  return stated.empty() ? "application/vnd.oci.image.manifest.v1+json" : stated;
}

Result<IndexEntry> choose(const Index& index, const Platform& platform) {
  const IndexEntry* best = nullptr;
  std::vector<std::string> others;
  for (const IndexEntry& entry : index.entries) {
    const Platform& offered = entry.platform;
    if (offered == Platform{} && index.entries.size() == 1) return entry;
    // Beside images there are attestations, for the platform "unknown".
    if (offered.os.empty() || offered.os == "unknown") continue;
    others.push_back(text(offered));
    if (offered.os != platform.os || offered.architecture != platform.architecture) continue;
    bool same = offered.variant.empty() || offered.variant == platform.variant;
    // An image for a later variant (amd64/v3) is taken only when there is nothing plainer.
    if (best == nullptr || (same && !best->platform.variant.empty())) best = &entry;
  }
  if (best != nullptr) return *best;
  std::string offers = others.empty() ? "it names no platform" : "it has " + join(others, ", ");
  return error(Code::kNotFound, cat("there is no image for ", text(platform), " in it: ", offers));
}

std::vector<std::string> chain_ids(const std::vector<std::string>& diff_ids) {
  std::vector<std::string> out;
  for (const std::string& diff_id : diff_ids)
    out.push_back(out.empty() ? diff_id : sha256_digest(cat(out.back(), " ", diff_id)));
  return out;
}

}  // namespace tessera::local
