#pragma once
// The program skopeo, which speaks with registries and reads docker's archives for us.

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/image_reference.h"
#include "base/process.h"
#include "base/result.h"

namespace tessera::local {

using api::Reference;

struct RegistryLogin {
  std::string user, password;  // empty: what auth_json says, else anonymous
  std::string auth_json;       // content of a docker config.json; may be empty
};

// Tools of one pull or import: everything temporary is under `folder`, also what skopeo itself puts
// aside. Lives on one thread; `stopping` may be set from any.
class Skopeo {
 public:
  // `unwanted`: nobody waits for it any more.
  Skopeo(std::string program, std::string folder, const std::atomic<bool>& stopping,
         std::stop_token unwanted = {});

  // Writes the login where only we can read it: never on a command line.
  Status log_in(const Reference& reference, const RegistryLogin& login);
  void allow_plain_http() { plain_http_ = true; }

  // The manifest, or index, byte for byte.
  Result<std::string> manifest(const Reference& reference);
  Result<std::string> config(const Reference& reference);
  // Layers and documents into blob_folder/sha256/<hex>. on_bytes: what that folder holds by now.
  Status download(const Reference& reference, const std::string& blob_folder,
                  const std::function<void(int64_t)>& on_bytes);
  // An image of a docker-save archive as the OCI layout `into`; `image` is a name in the archive,
  // or
  // "@0" for the first.
  Status unpack_saved(const std::string& archive, const std::string& image,
                      const std::string& into);

 private:
  Result<std::string> inspect(const Reference& reference, bool config);
  ProgramSpec command(std::vector<std::string> words, Millis deadline) const;
  Error failure(const Reference& reference, const std::string& standard_error) const;

  const std::string program_;
  const std::string folder_;
  bool is_over() const { return stopping_ || unwanted_.stop_requested(); }

  const std::atomic<bool>& stopping_;
  const std::stop_token unwanted_;
  bool plain_http_ = false;
  bool has_login_ = false;
};

// The last message of skopeo's log, which is what failed.
std::string skopeo_message(std::string_view standard_error);

}  // namespace tessera::local
