#pragma once
// Images as files: a folder of blobs, and OCI layouts on top of it.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/local/images/documents.h"

namespace tessera::local {

// One image, its documents read and checked, its layers as files of the right size.
struct ImageFiles {
  std::string blobs;  // folder with sha256/<hex>
  Descriptor descriptor;
  std::string manifest_json;
  Manifest manifest;
  std::string config_json;
  ImageConfig config;
  bool disposable = false;  // a layer's file may be removed as soon as it was read
};

struct NamedDescriptor {
  std::string name;  // as the layout has it: a reference, only a tag, or nothing
  Descriptor descriptor;
};

std::string blob_path(std::string_view blobs, std::string_view digest);
// The images that the index of an OCI layout names.
Result<std::vector<NamedDescriptor>> layout_images(const std::string& layout);
// Follows indexes down to the image for this machine. Errors name the digest, and `blobs`.
Result<ImageFiles> load_image(const std::string& blobs, const Descriptor& top);
// Checks that documents that came by another way belong together.
Result<ImageFiles> assemble_image(const std::string& blobs, const Descriptor& descriptor,
                                  std::string manifest_json, std::string config_json);
// Whether `bytes` are what the digest says.
Status check_digest(std::string_view digest, std::string_view bytes);

}  // namespace tessera::local
