#pragma once
// From an image's files into containerd: blobs, unpacked layers, a name.

#include <functional>
#include <string>

#include "base/result.h"
#include "engine/local/containerd/containerd.h"
#include "engine/local/images/keyed_mutex.h"
#include "engine/local/images/layout.h"

namespace tessera::local {

struct ImageProgress {
  enum class Phase { kResolving, kDownloading, kStoring, kUnpacking };
  Phase phase = Phase::kResolving;
  int64_t done = 0, total = 0;  // bytes of the image's layers as they travel, compressed
  bool operator==(const ImageProgress&) const = default;
};
using ImageProgressSink = std::function<void(const ImageProgress&)>;
std::string_view text(ImageProgress::Phase phase);

// Used by several threads at once: a layer that two images share is written and unpacked once.
class Ingest {
 public:
  // `storage` is the folder where containerd keeps its data, for telling how much room is there.
  Ingest(Containerd client, std::string snapshotter, std::string storage);

  // Either the image is there under that name, whole and unpacked, or nothing of it stays.
  Status run(const ImageFiles& image, const std::string& name, const ImageProgressSink& progress);
  // Unpacks the layers of an image that is there, should they be gone.
  Status restore(const std::string& manifest_digest, const ImageConfig& config);

 private:
  Status store(const Containerd& leased, const ImageFiles& image,
               const ImageProgressSink& progress);
  Status unpack(const Containerd& leased, const ImageFiles& image,
                const ImageProgressSink& progress);
  Status unpack_layer(const Containerd& leased, const Descriptor& layer, const std::string& diff_id,
                      const std::string& parent, const std::string& chain_id);
  int64_t need_bytes(const ImageFiles& image) const;

  const Containerd client_;
  const std::string snapshotter_;
  const std::string storage_;
  KeyedMutex busy_;  // digests being written, chain ids being unpacked
};

}  // namespace tessera::local
