#pragma once
// What may stand at the cursor of a command line.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace tessera::cli {

// Names of objects, for operands: by "job", "node", "image", "project"….
using NamesOf = std::function<std::vector<std::string>(const std::string& what)>;

// `words` are those behind "tessera"; the last one is begun and may be empty. Nothing is returned
// where a file belongs: the shell knows those. Pure but for `names_of`.
std::vector<std::string> complete(std::span<const Command> commands,
                                  std::span<const std::string> words, const NamesOf& names_of);

}  // namespace tessera::cli
