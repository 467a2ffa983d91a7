#pragma once
// A container's /dev/shm, to tell whether it was full when the container ended (A19).

#include <sys/types.h>

#include <string>

#include "base/file.h"

namespace tessera::local {

// Of the process, as it sees it; it can be asked about after all processes are gone. Empty when
// the process has ended already.
Fd open_shm(uint32_t pid);

// Half a sentence when a full /dev/shm may be why it ended so; else empty.
std::string describe_full_shm(const Fd& shm, uint32_t exit_code);

}  // namespace tessera::local
