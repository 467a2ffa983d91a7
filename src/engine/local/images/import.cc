// ImageStore: images from files.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "engine/local/images/image_store.h"
#include "engine/local/images/temp_folder.h"

namespace tessera::local {

namespace {

// Reading an archive of tens of gigabytes from a slow disk.
constexpr Millis kTarLimit{3'600'000};

Result<std::string> tar(std::vector<std::string> words, const std::string& archive,
                        const std::atomic<bool>& stopping) {
  words.insert(words.begin(), "tar");
  ProgramSpec spec;
  spec.argv = std::move(words);
  spec.env = {{"LC_ALL", "C"}};
  spec.deadline = kTarLimit;
  spec.on_tick = [&stopping] { return !stopping; };
  TRY(ProgramOutput output, run_program(spec));
  if (output.exit_code == 0) return output.out;
  std::string_view why = trim(output.err);
  why = why.substr(0, why.find('\n'));
  bool full = why.find("No space left on device") != std::string_view::npos;
  return error(full ? Code::kExhausted : Code::kInvalid,
               cat("cannot read the archive ", archive, ": ", why));
}

// A reference, or only a tag, as in many layouts: then it does not name the image.
bool is_whole_name(std::string_view name) {
  return name.find_first_of("/:") != std::string_view::npos;
}

Result<std::string> name_for(std::string_view given, const std::string& inside) {
  if (given.empty() && !is_whole_name(inside))
    return error(Code::kInvalid, "the image in it has no name", {}, "say which name to give it");
  TRY(Reference reference, api::parse_reference(given.empty() ? inside : given));
  return reference.text();
}

Error too_many(size_t count) {
  return error(Code::kInvalid, cat("one name was given, but there are ", count, " images in it"),
               {}, "leave out the name to take theirs");
}

}  // namespace

Result<std::vector<Image>> ImageStore::import(const std::string& path, std::string_view name,
                                              const ImageProgressSink& progress) {
  const ImageProgressSink tell = progress ? progress : [](const ImageProgress&) {};
  std::error_code failed;
  const std::string whole = std::filesystem::absolute(path, failed).string();
  if (!exists(whole)) return error(Code::kNotFound, cat("there is no file or folder ", path));
  Result<std::vector<Image>> done = std::filesystem::is_directory(whole, failed)
                                        ? import_layout(whole, /*disposable=*/false, name, tell)
                                        : import_archive(whole, name, tell);
  if (done.ok()) return done;
  return helped(std::move(done).error(), "the image").in(cat("cannot import ", path));
}

Result<std::vector<Image>> ImageStore::import_archive(const std::string& archive,
                                                      std::string_view name,
                                                      const ImageProgressSink& progress) {
  TRY(TempFolder folder, TempFolder::make(options_.work_folder));
  TRY(std::string listing, tar({"-tf", archive}, archive, stopping_));
  std::vector<std::string> members = split(listing, '\n');
  auto has = [&](std::string_view member) {
    return std::any_of(members.begin(), members.end(), [&](const std::string& each) {
      return each == member || each == cat("./", member);
    });
  };
  if (has("oci-layout")) {
    std::error_code failed;
    const auto size = static_cast<int64_t>(std::filesystem::file_size(archive, failed));
    TRY_STATUS(require_space("unpacking it", failed ? 0 : size, options_.work_folder));
    const std::string layout = folder.path() + "/layout";
    TRY_STATUS(make_directories(layout, 0700));
    Result<std::string> unpacked =
        tar({"-xf", archive, "-C", layout, "--no-same-owner", "--no-same-permissions"}, archive,
            stopping_);
    if (!unpacked.ok())
      return explain_full(unpacked.error(), "unpacking it", size, options_.work_folder);
    return import_layout(layout, /*disposable=*/true, name, progress);
  }
  if (has("manifest.json")) return import_saved(archive, folder.path(), name, progress);
  return error(Code::kInvalid,
               "it is neither a docker-save archive (no manifest.json) nor an OCI archive (no "
               "oci-layout)");
}

Result<std::vector<Image>> ImageStore::import_saved(const std::string& archive,
                                                    const std::string& folder,
                                                    std::string_view name,
                                                    const ImageProgressSink& progress) {
  TRY(std::string json, tar({"-xOf", archive, "manifest.json"}, archive, stopping_));
  TRY(std::vector<std::string> inside, parse_saved_names(json));
  if (!name.empty() && inside.size() > 1) return too_many(inside.size());
  Skopeo skopeo(options_.skopeo, folder, stopping_);
  std::error_code failed;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(archive, failed));
  std::vector<Image> out;
  for (size_t i = 0; i < inside.size(); ++i) {
    TRY(std::string wanted, name_for(name, inside[i]));
    const std::string layout = cat(folder, "/saved-", i);
    Status unpacked =
        skopeo.unpack_saved(archive, inside[i].empty() ? cat("@", i) : inside[i], layout);
    if (!unpacked.ok())
      return explain_full(unpacked.error(), "unpacking it", size, options_.work_folder);
    TRY(std::vector<Image> imported, import_layout(layout, /*disposable=*/true, wanted, progress));
    out.insert(out.end(), imported.begin(), imported.end());
  }
  return out;
}

Result<std::vector<Image>> ImageStore::import_layout(const std::string& layout, bool disposable,
                                                     std::string_view name,
                                                     const ImageProgressSink& progress) {
  if (!exists(layout + "/oci-layout"))
    return error(Code::kInvalid, "the folder is no OCI layout (it has no oci-layout)");
  TRY(std::vector<NamedDescriptor> inside, layout_images(layout));
  if (!name.empty() && inside.size() > 1) return too_many(inside.size());
  std::vector<Image> out;
  for (const NamedDescriptor& each : inside) {
    TRY(std::string wanted, name_for(name, each.name));
    TRY(ImageFiles image, load_image(layout + "/blobs", each.descriptor));
    image.disposable = disposable && inside.size() == 1;  // else they may share layers
    TRY_STATUS(ingest_.run(image, wanted, progress));
    TRY(Image imported, resolve(wanted));
    out.push_back(std::move(imported));
  }
  return out;
}

}  // namespace tessera::local
