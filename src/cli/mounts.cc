// -v and --mount.

#include "base/text.h"
#include "cli/csv.h"
#include "cli/paths.h"
#include "cli/run_flags.h"

namespace tessera::cli {

namespace {

constexpr std::string_view kOnlyFolders =
    "only folders of the node can be mounted: write /folder:/target, or ./folder:/target";

// One of the comma separated words behind the target.
Status apply_mode(std::string_view mode, api::Volume& volume) {
  if (mode == "ro" || mode == "readonly") {
    volume.readOnly = true;
    return Ok;
  }
  // The last three are docker's hints for file systems of a Mac; on Linux they change nothing.
  for (std::string_view same : {"rw", "consistent", "cached", "delegated"})
    if (mode == same) return Ok;
  if (mode == "z" || mode == "Z")
    return error(
        Code::kInvalid,
        cat("mode ", mode, " is not offered: files of the node keep their SELinux labels"));
  return error(Code::kInvalid, cat("mode ", quoted(mode), " is not offered"), {}, "use ro or rw");
}

}  // namespace

Result<api::Volume> parse_volume(std::string_view text, const std::string& folder) {
  std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2)
    return error(Code::kInvalid, cat(quoted(text), " names no folder of the node"), {},
                 std::string(kOnlyFolders));
  if (parts.size() > 3)
    return error(Code::kInvalid, cat(quoted(text), " has more than three parts"), {},
                 "write source:target[:ro]");
  api::Volume volume{.source = parts[0], .target = parts[1]};
  if (volume.source.starts_with('.') || volume.source.starts_with('/'))
    volume.source = absolute_path(volume.source, folder);
  else
    return error(Code::kInvalid, cat("named volumes like ", quoted(parts[0]), " are not offered"),
                 {}, std::string(kOnlyFolders));
  if (!volume.target.starts_with('/'))
    return error(Code::kInvalid, cat("the target ", quoted(volume.target), " must begin with /"));
  if (parts.size() == 3)
    for (const std::string& mode : split(parts[2], ',')) TRY_STATUS(apply_mode(mode, volume));
  return volume;
}

namespace {

struct MountWords {
  std::string type = "volume";  // docker's default
  api::Volume volume;
  api::TmpfsMount tmpfs;
  bool sized = false;  // has a tmpfs- key
};

Status take_word(const std::string& key, const std::string& value, MountWords& words) {
  if (key == "type") {
    words.type = value;
  } else if (key == "source" || key == "src") {
    words.volume.source = value;
  } else if (key == "target" || key == "destination" || key == "dst") {
    words.volume.target = words.tmpfs.target = value;
  } else if (key == "readonly" || key == "ro") {
    if (value != "true" && value != "false" && value != "1" && value != "0")
      return error(Code::kInvalid, cat(key, " must be true or false, not ", quoted(value)));
    words.volume.readOnly = value == "true" || value == "1";
  } else if (key == "tmpfs-size") {
    TRY(MiB size, parse_docker_memory(value));
    words.tmpfs.size = size;
    words.sized = true;
  } else if (key == "tmpfs-mode") {
    TRY(words.tmpfs.mode, parse_mode(value));
    words.sized = true;
  } else if (key == "bind-propagation") {
    if (value != "rprivate")
      return error(Code::kInvalid, cat("propagation ", quoted(value), " is not offered"), {},
                   "mounts are rprivate");
  } else if (key != "consistency") {  // a hint for a Mac
    return error(Code::kInvalid, cat("key ", quoted(key), " is not offered"), {},
                 "keys are type, source, target, readonly, tmpfs-size and tmpfs-mode");
  }
  return Ok;
}

}  // namespace

Result<std::variant<api::Volume, api::TmpfsMount>> parse_mount(std::string_view text) {
  using Mount = std::variant<api::Volume, api::TmpfsMount>;
  TRY(std::vector<std::string> fields, parse_csv_record(text));
  MountWords words;
  for (const std::string& field : fields) {
    size_t equals = field.find('=');
    std::string value = equals == std::string::npos ? "true" : field.substr(equals + 1);
    TRY_STATUS(take_word(lower(field.substr(0, equals)), value, words));
  }
  if (words.volume.target.empty()) return error(Code::kInvalid, "needs target=");
  if (words.type == "tmpfs") {
    if (!words.volume.source.empty())
      return error(Code::kInvalid, "a tmpfs is empty at first: it has no source");
    return Mount(std::move(words.tmpfs));
  }
  if (words.type != "bind")
    return error(Code::kInvalid, cat("type ", quoted(words.type), " is not offered"), {},
                 "write type=bind,source=/folder,target=/target, or type=tmpfs,target=/target");
  if (words.sized) return error(Code::kInvalid, "tmpfs- keys are for type=tmpfs");
  if (!words.volume.source.starts_with('/'))
    return error(Code::kInvalid,
                 cat("the source ", quoted(words.volume.source), " must begin with /"));
  return Mount(std::move(words.volume));
}

}  // namespace tessera::cli
