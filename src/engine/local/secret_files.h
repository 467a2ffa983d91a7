#pragma once
// Secrets as files: in memory from here to the container, never on a disk.

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/local/users.h"
#include "engine/local/volumes.h"

namespace tessera::local {

// A file system in memory with the files, to be bound into the container. Taken away at
// destruction: by then the container has mounts of its own, which keep what they show.
class SecretFiles {
 public:
  // `folder`: where to mount it; made when there are files. They belong to `owner`.
  static Result<SecretFiles> make(const std::vector<engine::SecretFile>& files, const User& owner,
                                  const std::string& folder);
  SecretFiles(SecretFiles&& other) noexcept;
  SecretFiles& operator=(SecretFiles&&) = delete;
  ~SecretFiles();

  const std::vector<BoundVolume>& bound() const { return bound_; }
  // What a crash has left at that place.
  static void clear(const std::string& folder);

 private:
  explicit SecretFiles(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;  // empty: nothing is mounted
  std::vector<BoundVolume> bound_;
};

}  // namespace tessera::local
