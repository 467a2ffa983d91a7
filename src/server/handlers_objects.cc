// Projects, secrets, nodes and accelerators: one object at a time.

#include "api/validate.h"
#include "base/text.h"
#include "server/encode.h"
#include "server/services.h"
#include "wire/json.h"

namespace tessera::server {

namespace routes = api::routes;
using api::DeleteQuery, api::Nothing, core::object_key;

namespace {

Status settle_project(api::Metadata& metadata, const Call& call) {
  const std::string& project = call.path.at("project");
  if (!metadata.project.empty() && metadata.project != project)
    return error(Code::kInvalid,
                 cat("is ", quoted(metadata.project), ", but the path says ", quoted(project)),
                 "metadata.project");
  metadata.project = project;
  return Ok;
}

// What of a project a maintainer may not change; quota, mounts and policies are the admin's.
Status check_maintainer(const Services& services, const Call& call, api::Project& wanted) {
  if (services.view.accounts()->role_of(call.caller) == api::ClusterRole::kAdmin) return Ok;
  const std::string& name = wanted.metadata.name;
  EntryPtr entry = services.view.find(std::string(core::kProjectKind), name);
  if (!entry) return not_found(core::kProjectKind, name);
  TRY(api::Project now, decode_tree<api::Project>(entry->tree()));
  api::ProjectSpec allowed = now.spec;
  allowed.description = wanted.spec.description;
  allowed.members = wanted.spec.members;
  if (allowed != wanted.spec)
    return error(Code::kPermissionDenied,
                 "a maintainer changes only description and members of a project", "spec",
                 "ask an admin for the rest");
  // Compared with this version: what an admin changes meanwhile must not be undone.
  if (wanted.metadata.resourceVersion == 0)
    wanted.metadata.resourceVersion = now.metadata.resourceVersion;
  return Ok;
}

// Wrong ones are told now, not by a pull in the night.
Status check_registry_logins(const api::Secret& secret) {
  auto config = secret.data.find(std::string(api::kRegistryLoginKey));
  if (config == secret.data.end()) return Ok;
  auto parsed = wire::parse_json(config->second);
  const Value* auths = parsed.ok() ? parsed->find("auths") : nullptr;
  if (auths && auths->map()) return Ok;
  return error(Code::kInvalid, "is no docker config.json with 'auths'",
               cat("data.", api::kRegistryLoginKey),
               "credential helpers stay behind on the machine that has them: log in without one");
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
  router.bind(routes::kGetProject, get_object(services, core::kProjectKind));
  router.bind(
      routes::kReplaceProject, std::function([&services](Call call, Nothing, api::Project project) {
        Status valid = settle_name(project.metadata, call);
        if (valid.ok()) valid = api::validate(project);
        if (valid.ok()) valid = check_maintainer(services, call, project);
        if (!valid.ok()) return call.refuse(valid.error());
        submit(services, call, core::kProjectKind, core::ReplaceProject{std::move(project)});
      }));
  router.bind(routes::kDeleteProject,
              std::function([&services](Call call, DeleteQuery query, Nothing) {
                std::string name = call.path.at("name");
                remove_object(services, call, core::kProjectKind, name,
                              core::DeleteProject{name, query.resourceVersion.value_or(0)});
              }));
}

void bind_secrets(Router& router, Services& services) {
  router.bind(
      routes::kCreateSecret, std::function([&services](Call call, Nothing, api::Secret secret) {
        Status valid = settle_project(secret.metadata, call);
        if (valid.ok()) valid = api::validate(secret);
        if (valid.ok()) valid = check_registry_logins(secret);
        if (!valid.ok()) return call.refuse(valid.error());
        prepare_new(secret.metadata);
        submit(services, call, core::kSecretKind, core::CreateSecret{std::move(secret)}, 201);
      }));
  router.bind(routes::kGetSecret, get_object(services, core::kSecretKind));
  router.bind(routes::kReplaceSecret,
              std::function([&services](Call call, Nothing, api::Secret secret) {
                Status valid = settle_name(secret.metadata, call);
                if (valid.ok()) valid = settle_project(secret.metadata, call);
                if (valid.ok()) valid = api::validate(secret);
                if (valid.ok()) valid = check_registry_logins(secret);
                if (!valid.ok()) return call.refuse(valid.error());
                submit(services, call, core::kSecretKind, core::ReplaceSecret{std::move(secret)});
              }));
  router.bind(routes::kDeleteSecret,
              std::function([&services](Call call, DeleteQuery query, Nothing) {
                std::string project = call.path.at("project"), name = call.path.at("name");
                remove_object(services, call, core::kSecretKind, object_key(project, name),
                              core::DeleteSecret{project, name, query.resourceVersion.value_or(0)});
              }));
}

}  // namespace

void bind_objects(Router& router, Services& services) {
  bind_projects(router, services);
  bind_secrets(router, services);
  router.bind(routes::kGetNode, get_object(services, core::kNodeKind));
  router.bind(routes::kGetAccelerator, get_object(services, core::kAcceleratorKind));
  router.bind(routes::kPatchNode, std::function([&services](Call call, Nothing, Value patch) {
                const std::string& name = call.path.at("name");
                EntryPtr entry = services.view.find(std::string(core::kNodeKind), name);
                if (!entry) return call.refuse(not_found(core::kNodeKind, name));
                Result<api::Node> node = decode_tree<api::Node>(merge_patch(entry->tree(), patch));
                Status valid = node.ok() ? settle_name(node->metadata, call) : Status(node.error());
                if (!valid.ok()) return call.refuse(valid.error());
                // Without a version of its own the patch applies to whatever there is.
                if (!patch.find("metadata") || !patch.find("metadata")->find("resourceVersion"))
                  node->metadata.resourceVersion = 0;
                submit(services, call, core::kNodeKind, core::ReplaceNode{std::move(*node)});
              }));
}

}  // namespace tessera::server
