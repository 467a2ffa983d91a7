#pragma once
// Builds of images: each in a session of its own, a few at a time.
//
// A step is a container of runc with docker's default rights, in its project's network: it reaches
// what the project's jobs reach, and of the machine nothing. Where a build begins from, our own
// image store pulls; buildah speaks with no registry.

#include <atomic>
#include <memory>
#include <shared_mutex>

#include "engine/engine.h"
#include "engine/local/machine.h"

namespace tessera::local {

// What buildah keeps, so that a step that was carried out before is not again.
struct BuildCache {
  std::shared_mutex mutex;          // shared by those who build
  std::atomic<bool> soiled = true;  // a build was ended in its midst
};

class Builds {
 public:
  explicit Builds(Machine& machine);

  // Clears up after builds that a server had under way when it was killed. Before the first one.
  void start();
  // kExhausted when too many are under way.
  Result<std::unique_ptr<engine::Session>> begin(const engine::BuildOrder& order,
                                                 engine::SessionEvents events);

 private:
  // Unless it is in use; the bytes that it has, or had.
  int64_t drop_cache(bool dry_run);

  Machine& machine_;
  BuildCache cache_;
  const std::shared_ptr<std::atomic<int>> running_;
};

}  // namespace tessera::local
