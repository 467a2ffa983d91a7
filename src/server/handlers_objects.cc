// Projects, secrets, nodes and accelerators: one object at a time.

#include "api/validate.h"
#include "base/text.h"
#include "server/encode.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::DeleteQuery, api::Nothing, core::object_key;

namespace {

// The name in the path decides; one in the body must be the same.
Status settle_name(api::Metadata& metadata, const Call& call) {
  const std::string& name = call.path.at("name");
  if (!metadata.name.empty() && metadata.name != name)
    return error(Code::kInvalid,
                 cat("is ", quoted(metadata.name), ", but the path says ", quoted(name)),
                 "metadata.name");
  metadata.name = name;
  return Ok;
}

Status settle_project(api::Metadata& metadata, const Call& call) {
  const std::string& project = call.path.at("project");
  if (!metadata.project.empty() && metadata.project != project)
    return error(Code::kInvalid,
                 cat("is ", quoted(metadata.project), ", but the path says ", quoted(project)),
                 "metadata.project");
  metadata.project = project;
  return Ok;
}

void prepare_new(api::Metadata& metadata) {
  metadata.uid = random_hex(16);
  metadata.resourceVersion = 0;
  metadata.generation = 0;
  metadata.deletionTimestamp.reset();
}

// Answers with one published object.
template <class Q>
auto get(Services& services, std::string_view kind) {
  return std::function([&services, kind](Call call, Q, Nothing) {
    auto project = call.path.find("project");
    std::string key =
        object_key(project == call.path.end() ? "" : project->second, call.path.at("name"));
    EntryPtr entry = services.view.find(std::string(kind), key);
    if (entry)
      call.answer(entry->json);
    else
      call.refuse(not_found(kind, key));
  });
}

// A delete answers with what was deleted.
void remove(Services& services, const Call& call, std::string_view kind, const std::string& key,
            core::Command command) {
  EntryPtr before = services.view.find(std::string(kind), key);
  services.brain.submit({std::move(command), {}},
                        [call, before, kind = std::string(kind), key](Result<std::string> reply) {
                          if (!reply.ok())
                            call.refuse(reply.error());
                          else
                            call.answer(before ? before->json : "{}");
                        });
}

void bind_projects(Router& router, Services& services) {
  router.bind(
      routes::kCreateProject, std::function([&services](Call call, Nothing, api::Project project) {
        Status valid = api::validate(project);
        if (!valid.ok()) return call.refuse(valid.error());
        prepare_new(project.metadata);
        project.metadata.project.clear();
        submit(services, call, core::kProjectKind, core::CreateProject{std::move(project)}, 201);
      }));
  router.bind(routes::kGetProject, get<Nothing>(services, core::kProjectKind));
  router.bind(
      routes::kReplaceProject, std::function([&services](Call call, Nothing, api::Project project) {
        Status valid = settle_name(project.metadata, call);
        if (valid.ok()) valid = api::validate(project);
        if (!valid.ok()) return call.refuse(valid.error());
        submit(services, call, core::kProjectKind, core::ReplaceProject{std::move(project)});
      }));
  router.bind(routes::kDeleteProject,
              std::function([&services](Call call, DeleteQuery query, Nothing) {
                std::string name = call.path.at("name");
                remove(services, call, core::kProjectKind, name,
                       core::DeleteProject{name, query.resourceVersion.value_or(0)});
              }));
}

void bind_secrets(Router& router, Services& services) {
  router.bind(
      routes::kCreateSecret, std::function([&services](Call call, Nothing, api::Secret secret) {
        Status valid = settle_project(secret.metadata, call);
        if (valid.ok()) valid = api::validate(secret);
        if (!valid.ok()) return call.refuse(valid.error());
        prepare_new(secret.metadata);
        submit(services, call, core::kSecretKind, core::CreateSecret{std::move(secret)}, 201);
      }));
  router.bind(routes::kGetSecret, get<Nothing>(services, core::kSecretKind));
  router.bind(routes::kReplaceSecret,
              std::function([&services](Call call, Nothing, api::Secret secret) {
                Status valid = settle_name(secret.metadata, call);
                if (valid.ok()) valid = settle_project(secret.metadata, call);
                if (valid.ok()) valid = api::validate(secret);
                if (!valid.ok()) return call.refuse(valid.error());
                submit(services, call, core::kSecretKind, core::ReplaceSecret{std::move(secret)});
              }));
  router.bind(routes::kDeleteSecret,
              std::function([&services](Call call, DeleteQuery query, Nothing) {
                std::string project = call.path.at("project"), name = call.path.at("name");
                remove(services, call, core::kSecretKind, object_key(project, name),
                       core::DeleteSecret{project, name, query.resourceVersion.value_or(0)});
              }));
}

}  // namespace

void bind_objects(Router& router, Services& services) {
  bind_projects(router, services);
  bind_secrets(router, services);
  router.bind(routes::kGetNode, get<Nothing>(services, core::kNodeKind));
  router.bind(routes::kGetAccelerator, get<Nothing>(services, core::kAcceleratorKind));
  router.bind(routes::kPatchNode, std::function([&services](Call call, Nothing, Value patch) {
                const std::string& name = call.path.at("name");
                EntryPtr entry = services.view.find(std::string(core::kNodeKind), name);
                if (!entry) return call.refuse(not_found(core::kNodeKind, name));
                Result<api::Node> node = decode_tree<api::Node>(merge_patch(entry->tree, patch));
                Status valid = node.ok() ? settle_name(node->metadata, call) : Status(node.error());
                if (!valid.ok()) return call.refuse(valid.error());
                // Without a version of its own the patch applies to whatever there is.
                if (!patch.find("metadata") || !patch.find("metadata")->find("resourceVersion"))
                  node->metadata.resourceVersion = 0;
                submit(services, call, core::kNodeKind, core::ReplaceNode{std::move(*node)});
              }));
}

}  // namespace tessera::server
