#include "engine/local/runc_text.h"

#include <string_view>

namespace tessera::local {

std::string plain_reason(std::string text) {
  constexpr std::string_view kBegins[] = {
      "unable to start container process: ", "OCI runtime create failed: ",
      "OCI runtime start failed: ", "OCI runtime exec failed: "};
  for (std::string_view begin : kBegins)
    if (size_t at = text.rfind(begin); at != std::string::npos) {
      text = text.substr(at + begin.size());
      break;
    }
  constexpr std::string_view kEnd = ": unknown";
  if (text.ends_with(kEnd)) text.resize(text.size() - kEnd.size());
  return text;
}

}  // namespace tessera::local
