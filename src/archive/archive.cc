#include "archive/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/text.h"

namespace tessera::archive {

namespace {

struct Free {
  void operator()(struct archive* a) const {
    if (a != nullptr) ::archive_free(a);
  }
  void operator()(struct archive_entry* entry) const { ::archive_entry_free(entry); }
};
using Archive = std::unique_ptr<struct archive, Free>;
using Entry = std::unique_ptr<struct archive_entry, Free>;

// Pieces of the stream; a pipe holds as much.
constexpr size_t kPiece = size_t{64} << 10;

Error failure(std::string_view what, struct archive* a) {
  int number = ::archive_errno(a);  // errno's, or a negative one of libarchive's own
  const char* words = ::archive_error_string(a);
  std::string why = number > 0 ? std::generic_category().message(number) : words ? words : "failed";
  Code code = number == ENOENT   ? Code::kNotFound
              : number == EACCES ? Code::kPermissionDenied
              : number == ENOSPC ? Code::kExhausted
                                 : Code::kInternal;
  return error(code, cat(what, ": ", why));
}

// Path without the slashes at its end, and the last part of it.
std::string trimmed(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}
std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}
std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

ssize_t to_sink(struct archive*, void* sink, const void* bytes, size_t size) {
  bool more = (*static_cast<const Sink*>(sink))({static_cast<const char*>(bytes), size});
  return more ? static_cast<ssize_t>(size) : -1;
}

// A piece at a time from the source, which libarchive reads where it lies.
struct Reader {
  const Source& source;
  std::string piece;
  Status status = Ok;

  static ssize_t read(struct archive* a, void* self, const void** bytes) {
    auto* reader = static_cast<Reader*>(self);
    auto next = reader->source();
    if (!next.ok()) {
      reader->status = next.error();
      ::archive_set_error(a, EIO, "%s", next.error().message.c_str());
      return -1;
    }
    reader->piece = *std::move(next);
    *bytes = reader->piece.data();
    return static_cast<ssize_t>(reader->piece.size());
  }
};

// Holes are written as the zeros that they stand for.
Status write_gap(struct archive* out, int64_t bytes) {
  static const std::string kZeros(kPiece, '\0');
  while (bytes > 0) {
    size_t size = std::min(static_cast<size_t>(bytes), kZeros.size());
    if (::archive_write_data(out, kZeros.data(), size) < 0) return failure("send", out);
    bytes -= static_cast<int64_t>(size);
  }
  return Ok;
}

Status copy_data(struct archive* from, struct archive* to, const std::string& name) {
  int64_t position = 0;
  while (true) {
    const void* bytes = nullptr;
    size_t size = 0;
    int64_t offset = 0;
    int result = ::archive_read_data_block(from, &bytes, &size, &offset);
    if (result == ARCHIVE_EOF) return Ok;
    if (result < ARCHIVE_WARN) return failure(cat("read ", name), from);
    TRY_STATUS(write_gap(to, offset - position));
    if (::archive_write_data(to, bytes, size) < 0) return failure("send", to);
    position = offset + static_cast<int64_t>(size);
  }
}

bool is_plain(const struct archive_entry* entry) {
  auto type = ::archive_entry_filetype(const_cast<struct archive_entry*>(entry));
  return type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK || type == AE_IFIFO ||
         ::archive_entry_hardlink(const_cast<struct archive_entry*>(entry)) != nullptr;
}

// Where the stream's first name goes: into which folder, and as what.
struct Place {
  std::string folder;
  std::string name;  // empty: its own
};

Result<Place> find_place(const std::string& path, bool source_is_folder) {
  struct stat facts{};
  bool there = ::stat(path.c_str(), &facts) == 0;
  if (!there && errno != ENOENT) return errno_error(path);
  if (there && S_ISDIR(facts.st_mode)) return Place{path, {}};
  if (there && source_is_folder)
    return error(Code::kInvalid, cat(path, " is no folder, but a folder is copied"));
  if (!there && !source_is_folder && path.ends_with('/'))
    return error(Code::kNotFound, cat("there is no folder ", path));
  std::string whole = trimmed(path);
  std::string folder = folder_of(whole);
  if (::stat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode))
    return error(Code::kNotFound, cat("there is no folder ", folder));
  return Place{folder, last_part(whole)};
}

// "old/a/b" → "name/a/b".
std::string moved(const std::string& path, const std::string& name) {
  if (name.empty()) return path;
  size_t slash = path.find('/');
  return slash == std::string::npos ? name : cat(name, path.substr(slash));
}

class Unpacker {
 public:
  explicit Unpacker(const Source& source)
      : reader_{source, {}}, in_(::archive_read_new()), out_(::archive_write_disk_new()) {}

  Status run(const std::string& path) {
    ::archive_read_support_format_tar(in_.get());
    // Those that libarchive unpacks itself: others would start programs.
    for (auto support : {::archive_read_support_filter_gzip, ::archive_read_support_filter_bzip2,
                         ::archive_read_support_filter_xz, ::archive_read_support_filter_zstd})
      support(in_.get());
    ::archive_write_disk_set_options(
        out_.get(), ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                        ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS |
                        ARCHIVE_EXTRACT_UNLINK);
    if (::archive_read_open(in_.get(), &reader_, nullptr, Reader::read, nullptr) != ARCHIVE_OK)
      return broken();
    struct archive_entry* entry = nullptr;
    bool first = true;
    while (true) {
      int result = ::archive_read_next_header(in_.get(), &entry);
      if (result == ARCHIVE_EOF) break;
      if (result < ARCHIVE_WARN) return broken();
      if (std::exchange(first, false)) TRY_STATUS(begin(path, entry));
      TRY_STATUS(take(entry));
    }
    if (first) return error(Code::kInvalid, "there is nothing in the stream");
    // Folders get their times and rights last.
    if (::archive_write_close(out_.get()) != ARCHIVE_OK) return failure("write", out_.get());
    return Ok;
  }

 private:
  Error broken() {
    if (!reader_.status.ok()) return reader_.status.error();
    return failure("read the stream", in_.get());
  }

  Status begin(const std::string& path, struct archive_entry* entry) {
    TRY(place_, find_place(path, ::archive_entry_filetype(entry) == AE_IFDIR));
    if (::chdir(place_.folder.c_str()) != 0) return errno_error(cat("enter ", place_.folder));
    return Ok;
  }

  Status take(struct archive_entry* entry) {
    std::string name = ::archive_entry_pathname(entry) ? ::archive_entry_pathname(entry) : "";
    // Devices are allocated, not copied.
    if (!is_plain(entry)) return Ok;
    std::string target = moved(name, place_.name);
    ::archive_entry_set_pathname(entry, target.c_str());
    if (const char* link = ::archive_entry_hardlink(entry))
      ::archive_entry_set_hardlink(entry, moved(link, place_.name).c_str());
    if (::archive_write_header(out_.get(), entry) < ARCHIVE_WARN)
      return failure(cat("write ", target), out_.get());
    if (::archive_entry_size(entry) > 0) TRY_STATUS(copy_blocks(target));
    if (::archive_write_finish_entry(out_.get()) < ARCHIVE_WARN)
      return failure(cat("write ", target), out_.get());
    return Ok;
  }

  Status copy_blocks(const std::string& target) {
    while (true) {
      const void* bytes = nullptr;
      size_t size = 0;
      int64_t offset = 0;
      int result = ::archive_read_data_block(in_.get(), &bytes, &size, &offset);
      if (result == ARCHIVE_EOF) return Ok;
      if (result < ARCHIVE_WARN) return broken();
      if (::archive_write_data_block(out_.get(), bytes, size, offset) < ARCHIVE_WARN)
        return failure(cat("write ", target), out_.get());
    }
  }

  Reader reader_;
  Archive in_, out_;
  Place place_;
};

// The thread's own working folder: names are taken from there, so that no link above it counts.
Status on_own_folder(const std::function<Status()>& work) {
  Status status = Ok;
  std::thread([&] {
    status = ::unshare(CLONE_FS) == 0 ? work() : Status(errno_error("leave the working folder"));
  }).join();
  return status;
}

}  // namespace

Status pack(const std::string& path, const Sink& sink) {
  Archive in(::archive_read_disk_new()), out(::archive_write_new());
  ::archive_read_disk_set_symlink_physical(in.get());
  ::archive_write_set_format_pax_restricted(out.get());
  ::archive_write_set_bytes_per_block(out.get(), kPiece);
  ::archive_write_set_bytes_in_last_block(out.get(), 1);
  std::string root = trimmed(path);
  struct stat facts{};
  if (::lstat(root.c_str(), &facts) != 0) return errno_error(root);
  std::string name = last_part(root).empty() ? "." : last_part(root);
  if (::archive_read_disk_open(in.get(), root.c_str()) != ARCHIVE_OK)
    return failure(root, in.get());
  if (::archive_write_open(out.get(), const_cast<Sink*>(&sink), nullptr, to_sink, nullptr) !=
      ARCHIVE_OK)
    return failure("send", out.get());
  while (true) {
    Entry entry(::archive_entry_new());
    int result = ::archive_read_next_header2(in.get(), entry.get());
    if (result == ARCHIVE_EOF) break;
    if (result < ARCHIVE_WARN) return failure(root, in.get());
    ::archive_read_disk_descend(in.get());
    if (!is_plain(entry.get())) continue;
    std::string inside = std::string(::archive_entry_pathname(entry.get())).substr(root.size());
    std::string shown = root == "/" ? cat("./", inside) : cat(name, inside);
    ::archive_entry_set_pathname(entry.get(), shown.c_str());
    if (::archive_write_header(out.get(), entry.get()) < ARCHIVE_WARN)
      return failure("send", out.get());
    if (::archive_entry_size(entry.get()) > 0) TRY_STATUS(copy_data(in.get(), out.get(), shown));
  }
  if (::archive_write_close(out.get()) != ARCHIVE_OK) return failure("send", out.get());
  return Ok;
}

Status unpack(const Source& source, const std::string& path) {
  return on_own_folder([&] { return Unpacker(source).run(path); });
}

}  // namespace tessera::archive
