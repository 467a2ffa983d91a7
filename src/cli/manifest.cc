#include "cli/manifest.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/kubernetes/translate.h"
#include "client/settings.h"
#include "wire/json.h"
#include "wire/yaml.h"

namespace tessera::cli {

namespace {

Result<std::vector<Value>> read_documents(std::string_view text) {
  if (!trim(text).starts_with('{')) return wire::parse_yaml_stream(text);
  TRY(Value document, wire::parse_json(text));
  return std::vector<Value>{std::move(document)};
}

// The items of a list, else the document itself.
std::vector<Value> flattened(std::vector<Value> documents) {
  std::vector<Value> out;
  for (Value& document : documents) {
    const Value* items = document.find("items");
    if (document.text("kind").ends_with("List") && items && items->list())
      out.insert(out.end(), items->list()->begin(), items->list()->end());
    else
      out.push_back(std::move(document));
  }
  return out;
}

// A plain Kubernetes Job or Pod as a Job of ours.
Result<Manifest> read_kubernetes(const Value& document) {
  kubernetes::Translation translated = kubernetes::translate(document);
  if (!translated.refusals.empty()) return kubernetes::as_one(translated.refusals);
  Manifest out;
  TRY(out.kind, find_object_kind("Job"));
  out.object = schema::encode(translated.job);
  return out;
}

Result<Manifest> read_manifest(Value document) {
  if (kubernetes::is_kubernetes(document)) return read_kubernetes(document);
  TRY(auto unwrapped, api::unwrap(std::move(document)));
  Manifest out;
  TRY(out.kind, find_object_kind(unwrapped.first->kind));
  if (!out.kind->create)
    return error(Code::kInvalid,
                 cat("a ", out.kind->kind, " cannot be written: the server makes it"), "kind");
  TRY(out.object, out.kind->normal(unwrapped.second));
  return out;
}

}  // namespace

Result<std::vector<Manifest>> read_manifests(std::string_view text) {
  TRY(std::vector<Value> documents, read_documents(text));
  documents = flattened(std::move(documents));
  std::vector<Manifest> out;
  for (size_t i = 0; i < documents.size(); ++i) {
    auto manifest = read_manifest(std::move(documents[i]));
    if (!manifest.ok() && documents.size() > 1)
      return client::in_file(manifest.error(), cat("object ", i + 1));
    if (!manifest.ok()) return std::move(manifest).error();
    out.push_back(std::move(*manifest));
  }
  if (out.empty()) return error(Code::kInvalid, "there is no object in it");
  return out;
}

Result<std::vector<Manifest>> read_manifest_file(const Console& console, const std::string& path) {
  bool input = path == "-";
  TRY(std::string text,
      input ? console.read_input(kManifestLimit) : read_file(path, kManifestLimit));
  auto manifests = read_manifests(text);
  if (!manifests.ok()) return client::in_file(manifests.error(), input ? "standard input" : path);
  return manifests;
}

}  // namespace tessera::cli
