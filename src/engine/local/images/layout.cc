#include "engine/local/images/layout.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "engine/local/containerd/digest.h"

namespace tessera::local {

namespace {

// An index of indexes is in use; more levels are not.
constexpr int kIndexDepthLimit = 4;

constexpr const char* kContainerdName = "io.containerd.image.name";
constexpr const char* kRefName = "org.opencontainers.image.ref.name";

Result<std::string> read_document(const std::string& blobs, std::string_view digest) {
  TRY(std::string bytes, read_file(blob_path(blobs, digest), kDocumentLimitBytes));
  TRY_STATUS(check_digest(digest, bytes));
  return bytes;
}

Status check_layer(const std::string& blobs, const Descriptor& layer) {
  struct stat info{};
  if (::stat(blob_path(blobs, layer.digest).c_str(), &info) != 0)
    return error(Code::kInvalid, cat("the layer ", layer.digest, " is missing"));
  if (!S_ISREG(info.st_mode) || info.st_size != layer.size)
    return error(Code::kInvalid, cat("the layer ", layer.digest, " is ", int64_t{info.st_size},
                                     " bytes long where ", layer.size, " are due"));
  return Ok;
}

std::string name_of(const IndexEntry& entry) {
  for (const char* key : {kContainerdName, kRefName})
    if (auto at = entry.annotations.find(key); at != entry.annotations.end()) return at->second;
  return {};
}

}  // namespace

std::string blob_path(std::string_view blobs, std::string_view digest) {
  return cat(blobs, "/sha256/", digest.substr(digest.find(':') + 1));
}

Status check_digest(std::string_view digest, std::string_view bytes) {
  if (sha256_digest(bytes) == digest) return Ok;
  return error(Code::kInvalid, cat("the blob ", digest, " is damaged: its bytes are others"));
}

Result<std::vector<NamedDescriptor>> layout_images(const std::string& layout) {
  TRY(std::string json, read_file(layout + "/index.json", kDocumentLimitBytes));
  TRY(auto document, parse_manifest(json));
  const Index* index = std::get_if<Index>(&document);
  if (index == nullptr) return error(Code::kInvalid, "its index.json is not an index");
  std::vector<NamedDescriptor> out;
  for (const IndexEntry& entry : index->entries) out.push_back({name_of(entry), entry.descriptor});
  if (out.empty()) return error(Code::kInvalid, "its index.json names no image");
  return out;
}

Result<ImageFiles> load_image(const std::string& blobs, const Descriptor& top) {
  Descriptor at = top;
  for (int depth = 0; depth < kIndexDepthLimit; ++depth) {
    TRY(std::string json, read_document(blobs, at.digest));
    TRY(auto document, parse_manifest(json));
    if (const Manifest* manifest = std::get_if<Manifest>(&document)) {
      TRY(std::string config, read_document(blobs, manifest->config.digest));
      TRY(ImageFiles image, assemble_image(blobs, at, std::move(json), std::move(config)));
      return image;
    }
    TRY(IndexEntry entry, choose(std::get<Index>(document), own_platform()));
    at = entry.descriptor;
  }
  return error(Code::kInvalid, cat("it has indexes more than ", kIndexDepthLimit, " deep"));
}

Result<ImageFiles> assemble_image(const std::string& blobs, const Descriptor& descriptor,
                                  std::string manifest_json, std::string config_json) {
  ImageFiles out;
  out.blobs = blobs;
  out.descriptor = descriptor;
  out.descriptor.size = static_cast<int64_t>(manifest_json.size());
  TRY(out.manifest, parse_single_manifest(manifest_json));
  TRY_STATUS(check_digest(out.manifest.config.digest, config_json));
  TRY(out.config, parse_image_config(config_json));
  out.manifest_json = std::move(manifest_json);
  out.config_json = std::move(config_json);

  const Platform own = own_platform();
  const Platform& its = out.config.platform;
  if ((!its.os.empty() && its.os != own.os) ||
      (!its.architecture.empty() && its.architecture != own.architecture))
    return error(Code::kInvalid, cat("it is for ", text(its), ", and this machine is ", text(own)));
  if (out.manifest.layers.size() != out.config.diff_ids.size())
    return error(Code::kInvalid,
                 cat("it has ", out.manifest.layers.size(), " layers, but its configuration names ",
                     out.config.diff_ids.size()));
  for (const Descriptor& layer : out.manifest.layers) TRY_STATUS(check_layer(blobs, layer));
  return out;
}

}  // namespace tessera::local
