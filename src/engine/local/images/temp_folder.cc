#include "engine/local/images/temp_folder.h"

#include <stdlib.h>
#include <sys/statvfs.h>

#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"

namespace tessera::local {

namespace {

namespace fs = std::filesystem;

std::string mebibytes(int64_t bytes) {
  constexpr int64_t kMiB = 1 << 20;
  return format_memory(MiB{(bytes + kMiB - 1) / kMiB});
}

std::string space_sentence(std::string_view what, int64_t need_bytes, const std::string& path) {
  return cat(what, " needs at least ", mebibytes(need_bytes), ", ", mebibytes(free_bytes(path)),
             " free in ", path);
}

}  // namespace

Result<TempFolder> TempFolder::make(const std::string& parent) {
  TRY_STATUS(make_directories(parent, 0700));
  std::string path = parent + "/XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)  // with mode 0700
    return errno_error(cat("create a folder in ", parent));
  return TempFolder(std::move(path));
}

TempFolder& TempFolder::operator=(TempFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempFolder::~TempFolder() {
  if (path_.empty()) return;
  std::error_code ignored;  // what stays is removed at the next start
  fs::remove_all(path_, ignored);
}

void empty_folder(const std::string& path) {
  std::error_code failed;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    fs::remove_all(at->path(), ignored);
  }
}

int64_t folder_bytes(const std::string& path) {
  int64_t sum = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(path, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code ignored;
    uintmax_t size = at->is_regular_file(ignored) ? at->file_size(ignored) : 0;
    if (!ignored) sum += static_cast<int64_t>(size);
  }
  return sum;
}

int64_t free_bytes(const std::string& path) {
  struct statvfs info{};
  if (::statvfs(path.c_str(), &info) != 0) return 0;
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

Status require_space(std::string_view what, int64_t need_bytes, const std::string& path) {
  if (free_bytes(path) >= need_bytes) return Ok;
  return error(Code::kExhausted, space_sentence(what, need_bytes, path), {},
               "make room, or remove images that no one uses");
}

Error explain_full(Error failure, std::string_view what, int64_t need_bytes,
                   const std::string& path) {
  if (failure.code != Code::kExhausted) return failure;
  return error(Code::kExhausted, cat("the disk is full: ", space_sentence(what, need_bytes, path)),
               {}, "make room, or remove images that no one uses");
}

}  // namespace tessera::local
