#include "cli/paths.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace tessera::cli {

std::string current_folder() {
  char* folder = ::getcwd(nullptr, 0);
  std::string out = folder ? folder : "/";
  ::free(folder);
  return out;
}

std::string absolute_path(std::string_view path, std::string_view folder) {
  std::vector<std::string> kept;
  for (const std::string& part :
       split(path.starts_with('/') ? std::string(path) : cat(folder, "/", path), '/')) {
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!part.empty() && part != "." && part != "..") kept.push_back(part);
  }
  return cat("/", join(kept, "/"));
}

}  // namespace tessera::cli
