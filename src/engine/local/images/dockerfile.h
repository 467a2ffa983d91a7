#pragma once
// As much of a Dockerfile as tells which images it begins from; buildah reads the rest. Pure.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::local {

// The references of FROM, COPY --from= and RUN --mount=from=, each once, in their order, with
// `args` and the defaults of the first ARGs filled in. Neither stages of its own nor "scratch".
std::vector<std::string> base_images(std::string_view dockerfile,
                                     const std::map<std::string, std::string>& args);

}  // namespace tessera::local
