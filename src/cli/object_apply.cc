// apply, create project, delete: what changes objects.

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/manifest.h"
#include "cli/objects.h"
#include "cli/schema_doc.h"

namespace tessera::cli {

namespace {

const Flag kFile = {
    "filename", 'f', "FILE", "A file of objects in YAML or JSON; - is standard input.", {}, true};

client::PathParams object_path(const Context& context, const Value& object) {
  std::string project = object.text("metadata", "project");
  return {{"project", project.empty() ? context.settings.project : project},
          {"name", object.text("metadata", "name")}};
}

// What a user writes of an object.
bool same_wish(const Value& a, const Value& b) {
  auto same = [](const Value* x, const Value* y) {
    auto empty = [](const Value* v) {
      return !v || v->is_null() || (v->map() && v->map()->empty());
    };
    return (empty(x) && empty(y)) || (x && y && *x == *y);
  };
  auto meta = [](const Value& object, std::string_view name) {
    const Value* metadata = object.find("metadata");
    const Value* found = metadata ? metadata->find(name) : nullptr;
    return found ? *found : Value();
  };
  auto same_meta = [&](std::string_view name) {
    Value x = meta(a, name), y = meta(b, name);
    for (Value* one : {&x, &y})
      if (Value::Map* map = one->map())  // what the server itself has written there
        std::erase_if(*map, [](const auto& entry) { return entry.first == api::kUserAnnotation; });
    return same(&x, &y);
  };
  return same(a.find("spec"), b.find("spec")) && same_meta("labels") && same_meta("annotations");
}

// What get prints of a secret has its keys without the values: applied, it would wipe them.
Status check_secret(const Manifest& manifest) {
  const Value* data = manifest.kind->kind == "Secret" ? manifest.object.find("data") : nullptr;
  if (!data || !data->map()) return Ok;
  for (const auto& [key, value] : *data->map())
    if (value.string() && value.string()->empty())
      return error(Code::kInvalid, "is empty", cat("data.", key),
                   "a secret's values are never shown, so what 'get' printed cannot be applied");
  return Ok;
}

// The word for what was done.
Result<std::string> apply_one(Context& context, const Manifest& wanted, std::string& label) {
  const ObjectKind& kind = *wanted.kind;
  client::PathParams path = object_path(context, wanted.object);
  label = object_label(kind.info(), wanted.object.text("metadata", "name"));
  auto create = [&]() -> Result<std::string> {
    TRY(Value made, context.client.call_tree(
                        {*kind.create, path, {}, wanted.object, client::new_idempotency_key()}));
    label = object_label(kind.info(), made.text("metadata", "name"));
    return std::string("created");
  };
  if (wanted.object.text("metadata", "name").empty()) return create();
  auto found = context.client.call_tree({*kind.get, path, {}, {}, {}});
  if (!found.ok() && found.error().code == Code::kNotFound) return create();
  if (!found.ok()) return std::move(found).error();
  TRY(Value existing, kind.normal(*found));
  // A secret's values are not shown, so nobody can say that they are the same.
  bool comparable = kind.kind != "Secret";
  if (comparable && same_wish(existing, wanted.object)) return std::string("unchanged");
  Value body = wanted.object;
  Value metadata = *body.find("metadata");
  // Whoever was faster between the get and this is not overwritten, unless the manifest says which
  // version it was made from.
  if (!metadata.find("resourceVersion"))
    if (const Value* version = found->find("metadata")->find("resourceVersion"))
      metadata.set("resourceVersion", *version);
  body.set("metadata", std::move(metadata));
  TRY(Value replaced, context.client.call_tree({*kind.replace, path, {}, body, {}}));
  return std::string("configured");
}

Result<int> apply(Context& context, const Args& args) {
  std::vector<std::string> files = args.all("filename");
  if (files.empty())
    return error(Code::kInvalid, "needs a file", {}, "tessera apply -f FILE, or -f - to read it");
  std::vector<Manifest> wanted;
  for (const std::string& file : files) {
    TRY(auto manifests, read_manifest_file(context.console, file));
    for (const Manifest& manifest : manifests) TRY_STATUS(check_secret(manifest));
    wanted.insert(wanted.end(), manifests.begin(), manifests.end());
  }
  int code = 0;
  for (const Manifest& manifest : wanted) {
    std::string label;
    auto done = apply_one(context, manifest, label);
    if (done.ok()) {
      context.console.print(cat(label, " ", *done, "\n"));
    } else {
      context.console.note(cat(label, ": ", done.error().text()));
      code = info(done.error().code).exit_code;
    }
  }
  return code;
}

Result<int> create_project(Context& context, const Args& args) {
  api::Project project{.metadata = {.name = args.operands[0]}};
  project.spec.description = args.text("description");
  project.spec.hostPaths = args.all("host-path");
  if (std::string most = args.text("max-gpus"); !most.empty()) {
    TRY(int64_t milli, parse_milli(most).in("--max-gpus"));
    project.spec.quota.max = MilliGpu{milli};
  }
  TRY(auto made, context.client.call(api::routes::kCreateProject, {}, {}, project));
  context.console.print(cat("project/", made.metadata.name, " created\n"));
  return 0;
}

struct Doomed {
  const ObjectKind* kind;
  client::PathParams path;
  std::string name;
};

Result<std::vector<Doomed>> doomed_objects(Context& context, const Args& args) {
  std::vector<Doomed> out;
  for (const std::string& file : args.all("filename")) {
    TRY(auto manifests, read_manifest_file(context.console, file));
    for (const Manifest& manifest : manifests)
      out.push_back({manifest.kind, object_path(context, manifest.object),
                     manifest.object.text("metadata", "name")});
  }
  // What stands first in a file is what the rest builds on: it goes last.
  std::ranges::reverse(out);
  if (args.operands.empty()) return out;
  TRY(Selected selected, select_objects(args.operands));
  for (const std::string& name : selected.names)
    out.push_back({selected.kind, context.path(name), name});
  return out;
}

Result<int> remove(Context& context, const Args& args) {
  TRY(std::vector<Doomed> doomed, doomed_objects(context, args));
  if (doomed.empty())
    return error(Code::kInvalid, "needs what to delete", {},
                 "tessera delete KIND NAME…, or -f FILE");
  int code = 0;
  for (const Doomed& object : doomed) {
    std::string label = object_label(object.kind->info(), object.name);
    if (!object.kind->remove)
      return error(Code::kInvalid, cat(label, " is observed by the server; it cannot be deleted"));
    auto removed = context.client.call_tree({*object.kind->remove, object.path, {}, {}, {}});
    if (!removed.ok()) {
      context.console.note(cat(label, ": ", removed.error().text()));
      code = info(removed.error().code).exit_code;
      continue;
    }
    bool stopping = !removed->text("metadata", "deletionTimestamp").empty() &&
                    removed->text("status", "phase") == "Stopping";
    context.console.print(cat(label, stopping ? " stops and is then deleted\n" : " deleted\n"));
  }
  return code;
}

}  // namespace

Command apply_command() {
  return {.name = "apply",
          .operands = "-f FILE",
          .doc = "Creates the objects of a file, or replaces those that exist and differ.",
          .flags = {kFile},
          .run = apply};
}

Command create_project_command() {
  const schema::Type& type = schema::describe<api::Project>();
  return {.name = "create project",
          .operands = "NAME",
          .doc = "Adds a project: a tenant with its own quota and mounts.",
          .flags = {{"max-gpus", 0, "N", schema_doc(type, "spec.quota.max"), {}},
                    {"host-path", 0, "FOLDER", schema_doc(type, "spec.hostPaths"), {}, true},
                    {"description", 0, "TEXT", schema_doc(type, "spec.description"), {}}},
          .run = create_project,
          .least = 1,
          .most = 1};
}

Command delete_command() {
  return {.name = "delete",
          .operands = "KIND NAME… | KIND/NAME… | -f FILE",
          .doc = "Deletes objects; a running job is stopped first.",
          .flags = {kFile},
          .run = remove,
          .most = kAnyNumber,
          .completes = "kind"};
}

}  // namespace tessera::cli
