#pragma once
// Network namespaces with a name: bind mounts, which keep them when no process is inside.

#include <string>

#include "base/result.h"

namespace tessera::local {

// Makes a namespace with nothing but its loopback and keeps it at `path`.
Status create_netns(const std::string& path);
// Ok when there is none.
Status remove_netns(const std::string& path);

}  // namespace tessera::local
