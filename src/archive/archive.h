#pragma once
// Files as a tar stream and back, by the rules of docker cp. Everything happens in the root folder
// and with the rights of the calling thread; links never lead an unpacked file out of its place.

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::archive {

// Gets a piece of the stream; false ends it early.
using Sink = std::function<bool(std::string_view bytes)>;
// Gives the next piece, empty at the end.
using Source = std::function<Result<std::string>()>;

// A file, or a folder with all below it, under the last part of its path; "folder/." packs what is
// in it without its name. Links stay links.
Status pack(const std::string& path, const Sink& sink);

// Into the folder `path`, or as `path` when there is none: a folder as that folder, a file as that
// file (or over the one that is there). Owners are left to the system: the caller's. The stream may
// be packed with gzip, bzip2, xz or zstd.
Status unpack(const Source& source, const std::string& path);

}  // namespace tessera::archive
