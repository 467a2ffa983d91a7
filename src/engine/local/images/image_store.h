#pragma once
// The images of this machine: pulled from registries, imported from files, kept in containerd.

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/image_reference.h"
#include "api/images.h"
#include "base/result.h"
#include "engine/local/containerd/containerd.h"
#include "engine/local/images/documents.h"
#include "engine/local/images/ingest.h"
#include "engine/local/images/single_flight.h"
#include "engine/local/images/skopeo.h"

namespace tessera::local {

struct ImageStoreOptions {
  std::string work_folder;     // downloads on their way; ours alone, emptied at the start
  std::string storage_folder;  // containerd's root
  std::string snapshotter = "overlayfs";
  std::vector<std::string> insecure_registries;  // "host:port" that may speak plain http
  std::string skopeo = "skopeo";
};

struct Image {
  std::string name;               // normalised reference
  std::string digest;             // of the manifest for this machine
  std::string chain_id;           // the snapshot to prepare containers from; empty for no layers
  int64_t size_bytes = 0;         // compressed, as docker and registries count
  Instant last_used;              // by a container, a pull or an import; to the hour
  std::vector<Descriptor> blobs;  // manifest, configuration, layers
  ImageConfig config;
};

// What a prune took away, or would.
struct Pruned {
  std::vector<Image> images;
  int64_t freed_bytes = 0;  // on the disk, of layers and their files that no other image has
};

// Methods block and are called on worker threads, several at once. Owned by the engine.
class ImageStore {
 public:
  ImageStore(Containerd client, ImageStoreOptions options);

  // Asks the registry, also when the image is here: kNotFound, kUnauthenticated, kPermissionDenied,
  // kUnavailable (cannot be reached), kExhausted (no room), each with a sentence. The same pull by
  // several callers at once is one pull, which goes on while one of them wants it. kConflict once
  // this one has given up.
  Result<Image> pull(std::string_view reference, const RegistryLogin& login,
                     const ImageProgressSink& progress = {}, const std::stop_token& given_up = {});
  // From a docker-save archive, an OCI archive or the folder of an OCI layout. `name` names the one
  // image in it; when empty, the names inside count.
  Result<std::vector<Image>> import(const std::string& path, std::string_view name,
                                    const ImageProgressSink& progress = {});

  // Only looks here: kNotFound when it must be pulled first. Unpacks again what was lost.
  Result<Image> resolve(std::string_view reference);
  Result<std::vector<Image>> list();
  // Containers made from it run on.
  Status remove(std::string_view reference);

  // An OCI layout of an image that is here, for another program to read. Its blobs stay where
  // containerd has them: hold the image meanwhile.
  Status lay_out(const Image& image, const std::string& folder) const;
  // From the folder that Buildah::save() wrote, which it takes apart, under all these whole names.
  // `bases`: what it was built from; their layers are shared.
  Result<std::vector<Image>> add_built(const std::string& saved,
                                       const std::vector<std::string>& names,
                                       const std::vector<Image>& bases,
                                       const ImageProgressSink& progress);
  const std::string& work_folder() const { return options_.work_folder; }

  // What docker inspect tells of it.
  Result<api::ImageDetails> inspect(std::string_view reference);

  // Who knows which images are needed by what is to run later: asked by prune(). Set before the
  // first call.
  using Needed = std::function<std::vector<std::string>()>;
  void needed_by(Needed needed) { needed_ = std::move(needed); }
  // Removes the images that nothing was made from since then, that no container has, that nobody
  // needs or holds. `dry_run` only tells.
  // Without a time all such, and what cache() frees.
  Result<Pruned> prune(std::optional<Instant> unused_since, bool dry_run);
  // What else may be thrown away on this disk: gives the bytes that it freed, or would free.
  using DropCache = std::function<int64_t(bool dry_run)>;
  void cache(DropCache drop) { drop_cache_ = std::move(drop); }
  // Of a failure for want of room on the disk: what is free, and how much a prune of all that is
  // unused would free there. `what` has no room. Once what was written is cleared away again.
  Error helped(Error failure, std::string_view what);
  // Now is the last use of the image with this whole name; `known` is its last one as far as the
  // caller knows.
  void note_use(const std::string& name, Instant known = {});

  // While it lives, prune() leaves the image alone: from the look at it until a container has it.
  class Hold {
   public:
    Hold(ImageStore& store, std::string_view reference);
    ~Hold();
    Hold(const Hold&) = delete;

   private:
    ImageStore& store_;
    std::multiset<std::string>::iterator place_;
  };

  // Ends pulls and imports on their way, which fail, and refuses new ones. Before the destructor,
  // wait for all calls to return.
  void stop() { stopping_ = true; }

 private:
  Result<Image> pull_now(const Reference& reference, const RegistryLogin& login,
                         const ImageProgressSink& progress, const std::stop_token& unwanted);
  Result<ImageFiles> download(Skopeo& skopeo, const Reference& reference, const std::string& folder,
                              const ImageProgressSink& progress);
  Result<std::vector<Image>> import_layout(const std::string& layout, bool disposable,
                                           std::string_view name,
                                           const ImageProgressSink& progress);
  Result<std::vector<Image>> import_saved(const std::string& archive, const std::string& folder,
                                          std::string_view name, const ImageProgressSink& progress);
  Result<std::vector<Image>> import_archive(const std::string& archive, std::string_view name,
                                            const ImageProgressSink& progress);
  std::string stored_blobs() const;
  // By its name or, for a digest, by any name of the same repository.
  Result<ImageRecord> find(const Reference& reference) const;
  static bool means(const Reference& reference, const std::string& name, const std::string& digest);
  Result<Image> describe(const ImageRecord& record);
  static Instant last_use(const ImageRecord& record);
  Result<std::set<std::string>> unused(const std::vector<Image>& images,
                                       const std::vector<std::string>& needed, Instant since) const;
  int64_t bytes_of_only(const std::vector<Image>& images, const std::set<std::string>& names) const;
  bool plain_http(const Reference& reference) const;
  struct Missing {
    int64_t bytes = 0, largest_bytes = 0;  // of all layers, of the largest one
  };
  // Takes layers that are here already from containerd's own files. Returns what remains.
  Missing reuse_layers(const Manifest& manifest, const std::string& blobs) const;

  const Containerd client_;
  const ImageStoreOptions options_;
  Ingest ingest_;
  std::atomic<bool> stopping_ = false;

  std::mutex mutex_;
  std::map<std::string, Image> described_;  // by digest, which never comes to mean another image
  std::mutex holds_mutex_;
  std::multiset<std::string> held_;  // whole references, under holds_mutex_
  Needed needed_ = [] { return std::vector<std::string>(); };
  DropCache drop_cache_ = [](bool) { return int64_t{0}; };
  // By reference and login. Last: what is under way uses the rest.
  SingleFlight<Result<Image>, ImageProgress> pulls_;
};

}  // namespace tessera::local
