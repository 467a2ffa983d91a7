#include "engine/local/images/temp_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <filesystem>

#include "base/bytes.h"
#include "base/file.h"
#include "base/text.h"

namespace tessera::local {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAreFree = " are free on ";

Error no_space(std::string_view what, int64_t need_bytes, int64_t free, const std::string& path) {
  // A disk that filled up although there was room for the least that it could be.
  std::string needs = need_bytes > free
                          ? cat(" needs at least ", byte_size(need_bytes), ", ", byte_size(free))
                          : cat(" needs more than the ", byte_size(free), " that");
  return error(Code::kExhausted, cat(what, needs, kAreFree, path));
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
    bool file = fs::is_regular_file(at->symlink_status(ignored));  // not what a link leads to
    uintmax_t size = file ? at->file_size(ignored) : 0;
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
  int64_t free = free_bytes(path);
  if (free >= need_bytes) return Ok;
  return no_space(what, need_bytes, free, path);
}

Error explain_full(Error failure, std::string_view what, int64_t need_bytes,
                   const std::string& path) {
  bool told = failure.message.find(kAreFree) != std::string::npos;
  if (failure.code != Code::kExhausted || told) return failure;
  return no_space(what, need_bytes, free_bytes(path), path);
}

bool same_disk(const std::string& a, const std::string& b) {
  struct stat of_a{}, of_b{};
  return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 &&
         of_a.st_dev == of_b.st_dev;
}

}  // namespace tessera::local
