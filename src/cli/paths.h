#pragma once
// Paths as the caller means them.

#include <string>
#include <string_view>

namespace tessera::cli {

// The folder that the program was started in.
std::string current_folder();

// The path from `folder` on, without ".", ".." and doubled slashes. Links are not followed: the
// server sees the same names.
std::string absolute_path(std::string_view path, std::string_view folder);

}  // namespace tessera::cli
