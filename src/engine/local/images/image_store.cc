#include "engine/local/images/image_store.h"

#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/local/containerd/digest.h"
#include "engine/local/images/temp_folder.h"

namespace tessera::local {

namespace {

// One text for one login: two people's pulls of one image must not share a refusal.
std::string flight_key(const Reference& reference, const RegistryLogin& login) {
  return cat(reference.text(), " ",
             sha256_digest(cat(login.user, "\n", login.password, "\n", login.auth_json)));
}

}  // namespace

ImageStore::ImageStore(Containerd client, ImageStoreOptions options)
    : client_(std::move(client)),
      options_(std::move(options)),
      ingest_(client_, options_.snapshotter, options_.storage_folder) {
  empty_folder(options_.work_folder);
}

Result<Image> ImageStore::pull(std::string_view text, const RegistryLogin& login,
                               const ImageProgressSink& progress, const std::stop_token& given_up) {
  TRY(Reference reference, api::parse_reference(text));
  auto work = [this, reference, login](const ImageProgressSink& all,
                                       const std::stop_token& unwanted) {
    return pull_now(reference, login, all, unwanted);
  };
  auto pulled = pulls_.run(flight_key(reference, login), progress, given_up, work);
  if (!pulled)
    return error(Code::kConflict, cat("the pull of ", reference.familiar(), " was given up"));
  if (pulled->ok()) return *std::move(pulled);
  return helped(std::move(*pulled).error(), cat("the image ", reference.familiar()));
}

Result<Image> ImageStore::pull_now(const Reference& reference, const RegistryLogin& login,
                                   const ImageProgressSink& progress,
                                   const std::stop_token& unwanted) {
  TRY(TempFolder folder, TempFolder::make(options_.work_folder));
  Skopeo skopeo(options_.skopeo, folder.path(), stopping_, unwanted);
  TRY_STATUS(skopeo.log_in(reference, login));
  if (plain_http(reference)) skopeo.allow_plain_http();
  progress({ImageProgress::Phase::kResolving, 0, 0});
  TRY(ImageFiles image, download(skopeo, reference, folder.path(), progress));
  image.disposable = true;
  TRY_STATUS(ingest_.run(image, reference.text(), progress));
  return resolve(reference.text());
}

bool ImageStore::plain_http(const Reference& reference) const {
  const auto& allowed = options_.insecure_registries;
  return api::is_loopback_registry(reference.registry) ||
         std::find(allowed.begin(), allowed.end(), reference.registry) != allowed.end();
}

// By digest from the first answer on, so that a tag which moves meanwhile does no harm.
Result<ImageFiles> ImageStore::download(Skopeo& skopeo, const Reference& reference,
                                        const std::string& folder,
                                        const ImageProgressSink& progress) {
  const std::string refused = cat("cannot pull ", reference.familiar());
  TRY(std::string manifest_json, skopeo.manifest(reference));
  Reference exact = reference;
  exact.tag.clear();
  exact.digest = sha256_digest(manifest_json);
  TRY(auto document, parse_manifest(manifest_json).in(refused));
  if (const Index* index = std::get_if<Index>(&document)) {
    TRY(IndexEntry entry, choose(*index, own_platform()).in(refused));
    exact.digest = entry.descriptor.digest;
    TRY(manifest_json, skopeo.manifest(exact));
  }
  TRY_STATUS(check_digest(exact.digest, manifest_json).in(refused));
  TRY(Manifest manifest, parse_single_manifest(manifest_json).in(refused));

  const std::string blobs = folder + "/blobs";
  TRY_STATUS(make_directories(blobs + "/sha256", 0700));
  const Missing missing = reuse_layers(manifest, blobs);
  const int64_t total = missing.bytes;
  const int64_t reused = folder_bytes(blobs);
  const std::string what = cat("the image ", reference.familiar());
  // The largest layer is there twice for a while: it is copied into containerd's files.
  const int64_t need =
      total + (same_disk(folder, options_.storage_folder) ? missing.largest_bytes : 0);
  TRY_STATUS(require_space(what, need, options_.work_folder));
  auto tell = [&](int64_t bytes) {
    progress({ImageProgress::Phase::kDownloading, std::min(bytes - reused, total), total});
  };
  Status done = skopeo.download(exact, blobs, tell);
  if (!done.ok()) return explain_full(done.error(), what, need, options_.work_folder);

  // skopeo writes its own form of docker's configurations; the registry has what the digest means.
  const std::string& config_digest = manifest.config.digest;
  Result<std::string> config_json = read_file(blob_path(blobs, config_digest), kDocumentLimitBytes);
  if (!config_json.ok()) config_json = skopeo.config(exact);
  if (!config_json.ok()) return config_json.error();
  Descriptor descriptor{media_type_of(manifest_json), exact.digest, 0};
  return assemble_image(blobs, descriptor, std::move(manifest_json), *std::move(config_json))
      .in(refused);
}

ImageStore::Missing ImageStore::reuse_layers(const Manifest& manifest,
                                             const std::string& blobs) const {
  const std::string stored = stored_blobs();
  Missing missing;
  for (const Descriptor& layer : manifest.layers) {
    const std::string from = blob_path(stored, layer.digest), to = blob_path(blobs, layer.digest);
    bool linked = exists(to) || ::link(from.c_str(), to.c_str()) == 0;
    if (linked) continue;
    missing.bytes += layer.size;
    missing.largest_bytes = std::max(missing.largest_bytes, layer.size);
  }
  return missing;
}

Result<Image> ImageStore::resolve(std::string_view text) {
  TRY(Reference reference, api::parse_reference(text));
  TRY(ImageRecord record, find(reference));
  TRY(Image image, describe(record));
  TRY_STATUS(ingest_.restore(record.target.digest, image.config));
  return image;
}

bool ImageStore::means(const Reference& reference, const std::string& name,
                       const std::string& digest) {
  if (name == reference.text()) return true;
  if (reference.digest.empty() || digest != reference.digest) return false;
  Result<Reference> other = api::parse_reference(name);
  return other.ok() && other->name() == reference.name();
}

Result<ImageRecord> ImageStore::find(const Reference& reference) const {
  Result<ImageRecord> named = client_.image(reference.text());
  if (named.ok() || named.error().code != Code::kNotFound) return named;
  if (!reference.digest.empty()) {
    TRY(std::vector<ImageRecord> records, client_.images());
    for (ImageRecord& record : records)
      if (means(reference, record.name, record.target.digest)) return std::move(record);
  }
  return error(Code::kNotFound, cat("the image ", reference.familiar(), " is not on this machine"),
               {}, "pull or import it first");
}

Result<Image> ImageStore::describe(const ImageRecord& record) {
  const std::string& digest = record.target.digest;
  std::unique_lock lock(mutex_);
  auto known = described_.find(digest);
  Image out;
  if (known != described_.end()) {
    out = known->second;
  } else {
    lock.unlock();
    TRY(std::string manifest_json, client_.read_content(digest, kDocumentLimitBytes));
    TRY(Manifest manifest, parse_single_manifest(manifest_json));
    TRY(std::string config_json, client_.read_content(manifest.config.digest, kDocumentLimitBytes));
    TRY(out.config, parse_image_config(config_json));
    std::vector<std::string> chain = chain_ids(out.config.diff_ids);
    out.digest = digest;
    out.chain_id = chain.empty() ? std::string() : chain.back();
    out.blobs = {record.target, manifest.config};
    out.blobs.insert(out.blobs.end(), manifest.layers.begin(), manifest.layers.end());
    for (const Descriptor& blob : out.blobs) out.size_bytes += blob.size;
    lock.lock();
    described_[digest] = out;
  }
  out.name = record.name;
  out.last_used = last_use(record);
  return out;
}

Result<std::vector<Image>> ImageStore::list() {
  TRY(std::vector<ImageRecord> records, client_.images());
  std::vector<Image> out;
  for (const ImageRecord& record : records) {
    Result<Image> image = describe(record);
    if (!image.ok() && image.error().code == Code::kUnavailable) return image.error();
    if (image.ok())
      out.push_back(*std::move(image));
    else  // removed meanwhile, or damaged: the others are still worth showing
      log::warn(cat("image ", record.name, ": ", image.error().text()));
  }
  return out;
}

Status ImageStore::remove(std::string_view text) {
  TRY(Reference reference, api::parse_reference(text));
  TRY(ImageRecord record, find(reference));
  TRY_STATUS(client_.delete_image(record.name, /*collect=*/true));
  std::lock_guard lock(mutex_);
  described_.erase(record.target.digest);
  return Ok;
}

}  // namespace tessera::local
