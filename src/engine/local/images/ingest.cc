#include "engine/local/images/ingest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "api/image_reference.h"
#include "base/file.h"
#include "base/text.h"
#include "engine/local/images/temp_folder.h"

namespace tessera::local {

namespace {

// Longer than any import; should we die meanwhile, the collector may clear up after that.
constexpr Millis kLeaseMs{24 * 3'600'000};

// What a layer holds uncompressed, as far as its file says: gzip ends with the size modulo 2^32.
int64_t uncompressed_bytes(const std::string& path, int64_t size) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  unsigned char head[2] = {}, tail[4] = {};
  if (!file || ::pread(file.get(), head, sizeof head, 0) != sizeof head ||
      ::pread(file.get(), tail, sizeof tail, size - 4) != sizeof tail)
    return size;
  bool gzip = head[0] == 0x1f && head[1] == 0x8b;
  int64_t stated = tail[0] | tail[1] << 8 | tail[2] << 16 | int64_t{tail[3]} << 24;
  return gzip ? std::max(stated, size) : size;
}

int64_t layer_bytes(const Manifest& manifest) {
  int64_t sum = 0;
  for (const Descriptor& layer : manifest.layers) sum += layer.size;
  return sum;
}

// From the manifest to everything it needs: the collector follows these.
Labels manifest_labels(const Manifest& manifest) {
  Labels out{{"containerd.io/gc.ref.content.config", manifest.config.digest}};
  for (size_t i = 0; i < manifest.layers.size(); ++i)
    out[cat("containerd.io/gc.ref.content.l.", i)] = manifest.layers[i].digest;
  return out;
}

}  // namespace

std::string_view text(ImageProgress::Phase phase) {
  switch (phase) {
    case ImageProgress::Phase::kResolving:
      return "resolving";
    case ImageProgress::Phase::kDownloading:
      return "downloading";
    case ImageProgress::Phase::kStoring:
      return "storing";
    case ImageProgress::Phase::kUnpacking:
      return "unpacking";
  }
  return "";
}

Ingest::Ingest(Containerd client, std::string snapshotter, std::string storage)
    : client_(std::move(client)),
      snapshotter_(std::move(snapshotter)),
      storage_(std::move(storage)) {}

Status Ingest::run(const ImageFiles& image, const std::string& name,
                   const ImageProgressSink& progress) {
  const int64_t need = need_bytes(image);
  const std::string what = cat("the image ", api::familiar_name(name));
  TRY_STATUS(require_space(what, need, storage_));
  TRY(Lease lease, client_.lease(kLeaseMs));
  Status done = store(lease.client(), image, progress);
  if (done.ok()) done = unpack(lease.client(), image, progress);
  if (done.ok()) done = lease.client().put_image({name, image.descriptor, {}, {}, {}});
  if (done.ok()) return Ok;
  Status cleared = lease.release(/*collect=*/true);
  Error why = explain_full(std::move(done).error(), what, need, storage_);
  if (!cleared.ok())
    why.hint = cat("what is there of it stays for a day: ", cleared.error().message);
  return why;
}

Status Ingest::restore(const std::string& manifest_digest, const ImageConfig& config) {
  std::vector<std::string> chain = chain_ids(config.diff_ids);
  if (chain.empty() || client_.snapshot(snapshotter_, chain.back()).ok()) return Ok;
  TRY(Lease lease, client_.lease(kLeaseMs));
  ImageFiles image;
  TRY(std::string json, client_.read_content(manifest_digest, kDocumentLimitBytes));
  TRY(image.manifest, parse_single_manifest(json));
  image.config = config;
  return unpack(lease.client(), image, [](const ImageProgress&) {});
}

// The smallest amount that it can be: only what is not there yet, and less what storing frees.
int64_t Ingest::need_bytes(const ImageFiles& image) const {
  std::vector<std::string> chain = chain_ids(image.config.diff_ids);
  int64_t to_store = 0, to_unpack = 0, largest = 0;
  for (size_t i = 0; i < chain.size(); ++i) {
    const Descriptor& layer = image.manifest.layers[i];
    if (!client_.content(layer.digest).ok()) {
      to_store += layer.size;
      largest = std::max(largest, layer.size);
    }
    if (!client_.snapshot(snapshotter_, chain[i]).ok())
      to_unpack += uncompressed_bytes(blob_path(image.blobs, layer.digest), layer.size);
  }
  bool moves = image.disposable && same_disk(image.blobs, storage_);
  return moves ? std::max(largest, to_unpack) : to_store + to_unpack;
}

Status Ingest::store(const Containerd& leased, const ImageFiles& image,
                     const ImageProgressSink& progress) {
  const int64_t total = layer_bytes(image.manifest);
  int64_t before = 0;
  for (size_t i = 0; i < image.manifest.layers.size(); ++i) {
    const Descriptor& layer = image.manifest.layers[i];
    const std::string path = blob_path(image.blobs, layer.digest);
    auto tell = [&](int64_t bytes) {
      progress({ImageProgress::Phase::kStoring, before + bytes, total});
    };
    KeyedMutex::Lock lock(busy_, layer.digest);
    TRY_STATUS(leased.write_file(layer, path,
                                 {{"containerd.io/uncompressed", image.config.diff_ids[i]}}, tell));
    before += layer.size;
    tell(0);
    // One by one, so that the disk never holds the image twice.
    auto rest = image.manifest.layers.begin() + static_cast<ptrdiff_t>(i) + 1;
    if (image.disposable &&
        std::find(rest, image.manifest.layers.end(), layer) == image.manifest.layers.end())
      ::unlink(path.c_str());
  }

  std::vector<std::string> chain = chain_ids(image.config.diff_ids);
  Labels config_labels;
  if (!chain.empty())
    config_labels[cat("containerd.io/gc.ref.snapshot.", snapshotter_)] = chain.back();
  KeyedMutex::Lock lock(busy_, image.manifest.config.digest);
  TRY_STATUS(leased.write_bytes(image.manifest.config, image.config_json, config_labels));
  return leased.write_bytes(image.descriptor, image.manifest_json, manifest_labels(image.manifest));
}

Status Ingest::unpack(const Containerd& leased, const ImageFiles& image,
                      const ImageProgressSink& progress) {
  const int64_t total = layer_bytes(image.manifest);
  int64_t before = 0;
  std::string parent;
  std::vector<std::string> chain = chain_ids(image.config.diff_ids);
  for (size_t i = 0; i < chain.size(); ++i) {
    progress({ImageProgress::Phase::kUnpacking, before, total});
    const Descriptor& layer = image.manifest.layers[i];
    KeyedMutex::Lock lock(busy_, chain[i]);
    TRY_STATUS(unpack_layer(leased, layer, image.config.diff_ids[i], parent, chain[i]));
    parent = chain[i];
    before += layer.size;
  }
  progress({ImageProgress::Phase::kUnpacking, total, total});
  return Ok;
}

Status Ingest::unpack_layer(const Containerd& leased, const Descriptor& layer,
                            const std::string& diff_id, const std::string& parent,
                            const std::string& chain_id) {
  TRY_STATUS(leased.hold_snapshot(snapshotter_, chain_id));
  if (leased.snapshot(snapshotter_, chain_id).ok()) return Ok;
  std::random_device random;
  const std::string key = cat("unpack-", random(), "-", random(), " ", chain_id);
  TRY(std::vector<Mount> mounts, leased.prepare_snapshot(snapshotter_, key, parent, {}));
  Status done = Ok;
  Result<Descriptor> applied = leased.apply_layer(layer, mounts);
  if (!applied.ok())
    done = std::move(applied).error();
  else if (applied->digest != diff_id)
    done = error(Code::kInvalid, cat("the layer ", layer.digest, " unpacks to ", applied->digest,
                                     " where its image says ", diff_id));
  else
    done = leased.commit_snapshot(snapshotter_, key, chain_id, {});
  if (done.ok()) return Ok;
  Status removed = leased.remove_snapshot(snapshotter_, key);
  // Another client of this containerd was faster: as good.
  if (done.error().code == Code::kAlreadyExists) return removed;
  return done;
}

}  // namespace tessera::local
