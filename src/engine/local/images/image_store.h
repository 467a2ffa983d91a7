#pragma once
// The images of this machine: pulled from registries, imported from files, kept in containerd.

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/image_reference.h"
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
  std::string name;        // normalised reference
  std::string digest;      // of the manifest for this machine
  std::string chain_id;    // the snapshot to prepare containers from; empty for no layers
  int64_t size_bytes = 0;  // compressed, as docker and registries count
  Instant added;           // when this name was last pulled or imported
  ImageConfig config;
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
  Result<ImageRecord> find(const Reference& reference) const;
  Result<Image> describe(const ImageRecord& record);
  bool plain_http(const Reference& reference) const;
  // Takes layers that are here already from containerd's own files. Returns the bytes that remain.
  int64_t reuse_layers(const Manifest& manifest, const std::string& blobs) const;

  const Containerd client_;
  const ImageStoreOptions options_;
  Ingest ingest_;
  std::atomic<bool> stopping_ = false;

  std::mutex mutex_;
  std::map<std::string, Image> described_;  // by digest, which never comes to mean another image
  // By reference and login. Last: what is under way uses the rest.
  SingleFlight<Result<Image>, ImageProgress> pulls_;
};

}  // namespace tessera::local
