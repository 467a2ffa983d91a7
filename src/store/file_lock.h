#pragma once
// One server a data folder: a lock beside the store's file. Internal to store.

#include "base/file.h"

namespace tessera::store {

// Creates (mode 0600) and locks PATH.lock; the lock lasts as long as the descriptor, and ends with
// the process however it dies. kConflict names the process that holds it.
Result<Fd> lock_beside(const std::string& path);

}  // namespace tessera::store
