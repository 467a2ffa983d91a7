#pragma once
// A folder for one pull or import: for its owner's eyes only, and gone when that ends.

#include <string>
#include <utility>

#include "base/result.h"

namespace tessera::local {

class TempFolder {
 public:
  static Result<TempFolder> make(const std::string& parent);
  TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempFolder& operator=(TempFolder&& other) noexcept;
  ~TempFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Removes everything in a folder: what a process that was killed has left there.
void empty_folder(const std::string& path);
// Bytes of all files below a folder, which may be changing.
int64_t folder_bytes(const std::string& path);
// Bytes that may still be written to the file system that has `path`; 0 when unknown.
int64_t free_bytes(const std::string& path);

// "image x needs at least 14GB, 3GB are free on /var/lib/x": kExhausted unless there is room.
Status require_space(std::string_view what, int64_t need_bytes, const std::string& path);
// The same sentence in place of an error that only says that the disk is full; one that has numbers
// already stays. Call it once what was written is cleared away again.
Error explain_full(Error failure, std::string_view what, int64_t need_bytes,
                   const std::string& path);
// Whether both are on one disk.
bool same_disk(const std::string& a, const std::string& b);

}  // namespace tessera::local
