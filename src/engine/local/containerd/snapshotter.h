#pragma once
// Which of containerd's snapshotters works on the file system where it keeps its data.

#include <string>

#include "base/result.h"

namespace tessera::local {

// "overlayfs", or "native" (a copy of each layer) where overlay mounts are refused, as on another
// overlay. Tried by mounting one in `storage`, since containerd finds out only when it is too late.
Result<std::string> pick_snapshotter(const std::string& storage);

}  // namespace tessera::local
