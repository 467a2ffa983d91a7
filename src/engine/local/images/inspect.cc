// ImageStore: what an image says of itself, in docker's words.
#include "base/text.h"
#include "engine/local/images/image_store.h"

namespace tessera::local {

Result<api::ImageDetails> ImageStore::inspect(std::string_view text) {
  TRY(Reference reference, api::parse_reference(text));
  TRY(ImageRecord record, find(reference));
  TRY(Image image, describe(record));
  const std::string& config_digest = image.blobs[1].digest;
  TRY(std::string json, client_.read_content(config_digest, kDocumentLimitBytes));
  TRY(api::ImageDetails out, parse_image_details(json));
  out.Id = config_digest;
  out.Size = image.size_bytes;
  // All its names, as docker lists them.
  TRY(std::vector<ImageRecord> records, client_.images());
  for (const ImageRecord& other : records) {
    auto name = api::parse_reference(other.name);
    if (other.target.digest != image.digest || !name.ok()) continue;
    if (!name->tag.empty()) out.RepoTags.push_back(name->familiar());
    Reference by_digest = *name;
    by_digest.tag.clear();
    by_digest.digest = image.digest;
    if (std::string own = by_digest.familiar();
        out.RepoDigests.empty() || out.RepoDigests.back() != own)
      out.RepoDigests.push_back(std::move(own));
    out.LastUsed = std::max(out.LastUsed, last_use(other));
  }
  return out;
}

}  // namespace tessera::local
