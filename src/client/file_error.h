#pragma once
// Mistakes inside a file that a person wrote.

#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::client {

// The error with the file's name in front of all, also of the field.
inline Error in_file(std::string_view name, const Error& mistake) {
  return error(mistake.code, std::string(name) + ": " + mistake.text());
}

}  // namespace tessera::client
