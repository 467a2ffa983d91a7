#include "client/contexts.h"

#include <algorithm>

#include "api/codec_impl.h"
#include "base/file.h"
#include "client/settings.h"
#include "wire/yaml.h"

TESSERA_CODEC(tessera::client::ContextFile)

namespace tessera::client {

namespace {

// kContextLimit certificates and tokens fit.
constexpr size_t kFileLimit = 1 << 20;

std::string path_in(const std::string& folder) {
  return folder + "/contexts.yaml";
}

}  // namespace

Result<const SavedContext*> ContextFile::find(std::string_view name) const {
  std::vector<std::string> names;
  for (const SavedContext& context : contexts) {
    if (context.name == name) return &context;
    names.push_back(context.name);
  }
  return error(
      Code::kNotFound, cat("there is no context ", quoted(name)), {},
      names.empty() ? "'tessera login URL' makes one" : cat("there are ", join(names, ", ")));
}

Status ContextFile::put(SavedContext context) {
  auto same = std::ranges::find(contexts, context.name, &SavedContext::name);
  if (same != contexts.end()) {
    *same = std::move(context);
    return Ok;
  }
  if (contexts.size() >= kContextLimit)
    return error(Code::kExhausted, cat("there are ", kContextLimit, " contexts already"), {},
                 "'tessera context rm' removes one");
  contexts.push_back(std::move(context));
  return Ok;
}

Result<ContextFile> read_contexts(const std::string& folder) {
  std::string path = path_in(folder);
  if (folder.empty() || !exists(path)) return ContextFile{};
  TRY(std::string text, read_file(path, kFileLimit));
  auto document = wire::parse_yaml(text);
  if (!document.ok()) return in_file(document.error(), path);
  if (document->is_null()) return ContextFile{};
  auto file = schema::decode<ContextFile>(*document);
  if (!file.ok()) return in_file(file.error(), path);
  return file;
}

Status write_contexts(const std::string& folder, const ContextFile& file) {
  if (folder.empty())
    return error(Code::kInvalid, "there is no folder for your contexts", {},
                 "set HOME or XDG_CONFIG_HOME");
  TRY_STATUS(make_directories(folder, 0700));
  return write_file(path_in(folder), wire::to_yaml(schema::encode(file)), 0600);
}

}  // namespace tessera::client
