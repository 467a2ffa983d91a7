#pragma once
// Looks into a container's file system before there is a container.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/local/containerd/types.h"

namespace tessera::local {

// Calls `look` with the folder where the mounts of a snapshot are, in a mount namespace that no one
// else sees and that is gone afterwards. On a thread of its own.
Status with_rootfs(const std::vector<Mount>& mounts,
                   const std::function<void(const std::string& root)>& look);

}  // namespace tessera::local
