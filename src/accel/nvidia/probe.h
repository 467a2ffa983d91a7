#pragma once
// Tries NVML in a process of its own first: a library that crashes or hangs while it is loaded
// must not take the server along (H8).

#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tessera::accel::nvidia {

// What that process does: loads the library, reads all devices once and returns its exit code.
// The program named by `ProviderOptions::nvml_probe` calls this with its last argument.
int probe_main(const std::string& library);

// Runs `command` with `library` as its last argument. Ok when loading it here is safe, which says
// nothing about what it will answer. kNotFound when there is no such library, kTimeout when it
// hangs, kInternal with a sentence when it crashes or cannot be loaded.
Status probe(std::vector<std::string> command, const std::string& library, Millis deadline);

}  // namespace tessera::accel::nvidia
