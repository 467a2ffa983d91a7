// ImageStore: which images are in use, and how the others go.
#include <algorithm>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/local/images/image_store.h"
#include "engine/local/images/temp_folder.h"

namespace tessera::local {

namespace {

// On the image's record, so that it is kept, and goes, with it: milliseconds since the epoch.
constexpr std::string_view kUsedLabel = "tessera.dev/last-used";
// How exact it is: a start then writes to containerd's database once an hour, not every time.
constexpr Millis kUseStep{3'600'000};
constexpr Millis kCollectionMs{60'000};

std::vector<api::Reference> parse_all(const std::vector<std::string>& texts) {
  std::vector<api::Reference> out;
  for (const std::string& text : texts)
    if (auto reference = api::parse_reference(text); reference.ok())
      out.push_back(*std::move(reference));
  return out;
}

// An unpacked layer, told apart from its file.
std::string unpacked(const std::string& chain_id) {
  return cat("unpacked ", chain_id);
}

std::string whole_name(std::string_view text) {
  auto reference = api::parse_reference(text);
  return reference.ok() ? reference->text() : std::string(text);
}

}  // namespace

ImageStore::Hold::Hold(ImageStore& store, std::string_view reference) : store_(store) {
  std::lock_guard lock(store_.holds_mutex_);
  place_ = store_.held_.insert(whole_name(reference));
}

ImageStore::Hold::~Hold() {
  std::lock_guard lock(store_.holds_mutex_);
  store_.held_.erase(place_);
}

Instant ImageStore::last_use(const ImageRecord& record) {
  auto label = record.labels.find(std::string(kUsedLabel));
  auto noted = label == record.labels.end() ? std::nullopt : to_int(label->second);
  return noted ? Instant{*noted} : record.updated;
}

void ImageStore::note_use(const std::string& name, Instant known) {
  if (wall_now() - known < kUseStep) return;
  auto record = client_.image(name);
  if (!record.ok() || wall_now() - last_use(*record) < kUseStep) return;
  Status noted = client_.set_image_labels(name, {{std::string(kUsedLabel), cat(wall_now().ms)}});
  if (!noted.ok()) log::warn(cat("the last use of ", name, " is not kept: ", noted.error().text()));
}

// Under the lock: so no start has looked at an image and not made its container yet without holding
// it.
Result<std::set<std::string>> ImageStore::unused(const std::vector<Image>& images,
                                                 const std::vector<std::string>& needed,
                                                 Instant since) const {
  TRY(std::vector<ContainerRecord> containers, client_.containers());
  std::set<std::string> with_container;
  for (const ContainerRecord& container : containers) with_container.insert(container.image);
  std::vector<api::Reference> wanted = parse_all(needed);
  for (api::Reference& held : parse_all({held_.begin(), held_.end()}))
    wanted.push_back(std::move(held));
  std::set<std::string> out;
  for (const Image& image : images) {
    auto means_it = [&](const api::Reference& reference) {
      return means(reference, image.name, image.digest);
    };
    if (image.last_used <= since && !with_container.contains(image.name) &&
        std::none_of(wanted.begin(), wanted.end(), means_it))
      out.insert(image.name);
  }
  return out;
}

// What only these images have on the disk: files of layers and documents, unpacked layers.
int64_t ImageStore::bytes_of_only(const std::vector<Image>& images,
                                  const std::set<std::string>& names) const {
  std::set<std::string> counted;  // what others have, then also what was counted
  for (const Image& image : images) {
    if (names.contains(image.name)) continue;
    for (const Descriptor& blob : image.blobs) counted.insert(blob.digest);
    for (const std::string& chain_id : chain_ids(image.config.diff_ids))
      counted.insert(unpacked(chain_id));
  }
  int64_t sum = 0;
  for (const Image& image : images) {
    if (!names.contains(image.name)) continue;
    for (const Descriptor& blob : image.blobs)
      if (counted.insert(blob.digest).second) sum += blob.size;
    for (const std::string& chain_id : chain_ids(image.config.diff_ids))
      if (counted.insert(unpacked(chain_id)).second)
        if (auto size = client_.snapshot_bytes(options_.snapshotter, chain_id); size.ok())
          sum += *size;
  }
  return sum;
}

Result<Pruned> ImageStore::prune(std::optional<Instant> unused_since, bool dry_run) {
  const std::vector<std::string> needed = needed_();
  TRY(std::vector<Image> images, list());
  Pruned out;
  {
    std::lock_guard lock(holds_mutex_);
    TRY(std::set<std::string> names, unused(images, needed, unused_since.value_or(wall_now())));
    out.freed_bytes = bytes_of_only(images, names);
    for (Image& image : images) {
      if (!names.contains(image.name)) continue;
      if (!dry_run) TRY_STATUS(client_.delete_image(image.name, /*collect=*/false));
      out.images.push_back(std::move(image));
    }
  }
  if (!unused_since) out.freed_bytes += drop_cache_(dry_run);
  if (dry_run || out.images.empty()) return out;
  // The names are gone; now what only they kept. Starts need not wait for that.
  Result<Lease> lease = client_.lease(kCollectionMs);
  Status collected = lease.ok() ? lease->release(/*collect=*/true) : Status(lease.error());
  if (!collected.ok())
    log::warn(cat("containerd collects pruned images later: ", collected.error().text()));
  return out;
}

Error ImageStore::helped(Error failure, std::string_view what) {
  if (failure.code != Code::kExhausted) return failure;
  Error full = explain_full(std::move(failure), what, 0, options_.work_folder);
  Result<Pruned> would = prune(std::nullopt, /*dry_run=*/true);
  if (!would.ok() || !full.hint.empty()) return full;
  full.hint = would->freed_bytes > 0
                  ? cat("'tessera image prune --all' would free ", byte_size(would->freed_bytes))
                  : "make room there: no image is unused";
  return full;
}

}  // namespace tessera::local
