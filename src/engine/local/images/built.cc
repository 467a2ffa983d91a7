// ImageStore: images for buildah to begin from, and what it has built.
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "engine/local/containerd/digest.h"
#include "engine/local/images/image_store.h"
#include "wire/json.h"

namespace tessera::local {

namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestType = "application/vnd.docker.distribution.manifest.v2+json";

Value to_value(const Descriptor& descriptor) {
  Value out;
  out.set("mediaType", descriptor.media_type);
  out.set("size", descriptor.size);
  out.set("digest", descriptor.digest);
  return out;
}

// docker's word for what a layer is; empty where it has none.
std::string layer_type(std::string_view type) {
  constexpr const char* kPlain = "application/vnd.docker.image.rootfs.diff.tar";
  if (type == kPlain || type == "application/vnd.oci.image.layer.v1.tar") return kPlain;
  const std::string zipped = cat(kPlain, ".gzip");
  bool gzip = type == zipped || type == "application/vnd.oci.image.layer.v1.tar+gzip";
  return gzip ? zipped : std::string();
}

// The layers of these images by what they hold.
std::map<std::string, Descriptor> layers_of(const std::vector<Image>& images) {
  std::map<std::string, Descriptor> out;
  for (const Image& image : images)
    for (size_t i = 0; i < image.config.diff_ids.size(); ++i)
      out[image.config.diff_ids[i]] = image.blobs[i + 2];
  return out;
}

Value manifest_value(const Manifest& manifest) {
  Value::List layers;
  for (const Descriptor& layer : manifest.layers) layers.push_back(to_value(layer));
  Value out;
  out.set("schemaVersion", int64_t{2});
  out.set("mediaType", kManifestType);
  out.set("config", to_value(manifest.config));
  out.set("layers", Value(std::move(layers)));
  return out;
}

// buildah's folder has its blobs side by side.
Status sort_blobs(const std::string& saved, const Manifest& manifest) {
  TRY_STATUS(make_directories(saved + "/blobs/sha256", 0700));
  std::vector<Descriptor> all = manifest.layers;
  all.push_back(manifest.config);
  for (const Descriptor& blob : all) {
    const std::string to = blob_path(saved + "/blobs", blob.digest);
    if (exists(to)) continue;  // a layer that is there twice
    const std::string from = cat(saved, "/", fs::path(to).filename().string());
    if (::rename(from.c_str(), to.c_str()) != 0) return errno_error(cat("move ", from));
  }
  return Ok;
}

}  // namespace

std::string ImageStore::stored_blobs() const {
  return options_.storage_folder + "/io.containerd.content.v1.content/blobs";
}

Status ImageStore::lay_out(const Image& image, const std::string& folder) const {
  TRY_STATUS(make_directories(folder, 0700));
  TRY_STATUS(write_file(folder + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})"));
  Value index;
  index.set("schemaVersion", int64_t{2});
  index.set("manifests", Value(Value::List{to_value(image.blobs[0])}));
  TRY_STATUS(write_file(folder + "/index.json", wire::to_json(index)));
  if (::symlink(stored_blobs().c_str(), (folder + "/blobs").c_str()) != 0)
    return errno_error(cat("link into ", folder));
  return Ok;
}

Result<std::vector<Image>> ImageStore::add_built(const std::string& saved,
                                                 const std::vector<std::string>& names,
                                                 const std::vector<Image>& bases,
                                                 const ImageProgressSink& progress) {
  const std::string blobs = saved + "/blobs";
  TRY(std::string json, read_file(saved + "/manifest.json", kDocumentLimitBytes));
  TRY(Manifest manifest, parse_single_manifest(json));
  TRY_STATUS(sort_blobs(saved, manifest));
  TRY(std::string config_json,
      read_file(blob_path(blobs, manifest.config.digest), kDocumentLimitBytes));
  TRY(ImageConfig config, parse_image_config(config_json));
  // What it begins from is here already, compressed as it came.
  const std::map<std::string, Descriptor> known = layers_of(bases);
  for (size_t i = 0; i < config.diff_ids.size() && i < manifest.layers.size(); ++i) {
    auto found = known.find(config.diff_ids[i]);
    if (found == known.end() || layer_type(found->second.media_type).empty()) continue;
    const std::string from = blob_path(stored_blobs(), found->second.digest);
    const std::string to = blob_path(blobs, found->second.digest);
    if (!exists(to) && ::link(from.c_str(), to.c_str()) != 0) continue;
    manifest.layers[i] = found->second;
    manifest.layers[i].media_type = layer_type(found->second.media_type);
  }
  json = wire::to_json(manifest_value(manifest));
  const Descriptor descriptor{kManifestType, sha256_digest(json), 0};
  TRY(ImageFiles image, assemble_image(blobs, descriptor, std::move(json), std::move(config_json)));
  std::vector<Image> out;
  for (const std::string& name : names) {
    image.disposable = &name == &names.back();
    TRY_STATUS(ingest_.run(image, name, progress));
    TRY(Image added, resolve(name));
    out.push_back(std::move(added));
  }
  return out;
}

}  // namespace tessera::local
