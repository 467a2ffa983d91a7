// Projects, secrets, and what is observed of nodes and accelerators.

#include <algorithm>

#include "core/step_internal.h"

namespace tessera::core {

void stamp(api::Metadata& metadata, Instant now) {
  metadata.creationTimestamp = now;
  metadata.generation = 1;
}

void take_user_metadata(api::Metadata& into, const api::Metadata& from) {
  into.labels = from.labels;
  into.annotations = from.annotations;
}

Status already(std::string_view noun, const std::string& name) {
  return error(Code::kAlreadyExists, cat("there already is a ", noun, " ", quoted(name)),
               "metadata.name");
}

namespace {

// A member whom nobody knows is a slip of the keyboard, and would give rights to whoever gets that
// name one day. Those who were members before may stay.
Status check_members(const State& state, const api::Project& wanted, const api::Project* before) {
  for (const auto& [user, role] : wanted.spec.members)
    if (!state.users.contains(user) && !(before && before->spec.members.contains(user)))
      return error(Code::kNotFound, cat("there is no user ", quoted(user)),
                   cat("spec.members.", user), cat("'tessera user create ", user, "' adds one"));
  return Ok;
}

}  // namespace

Status apply(State& state, const CreateProject& command, Instant now) {
  const std::string& name = command.project.metadata.name;
  if (state.projects.contains(name)) return already("project", name);
  if (static_cast<int64_t>(state.projects.size()) >= kProjectLimit)
    return error(Code::kExhausted, cat("there are ", kProjectLimit, " projects already"));
  TRY_STATUS(check_members(state, command.project, nullptr));
  api::Project& project = state.projects.emplace(name, command.project).first->second;
  stamp(project.metadata, now);
  touch(state, project);
  return Ok;
}

Status apply(State& state, const ReplaceProject& command, Instant) {
  const api::Metadata& metadata = command.project.metadata;
  TRY_STATUS(check_present(state.projects, "project", metadata.name, metadata.resourceVersion));
  api::Project& project = state.projects.at(metadata.name);
  TRY_STATUS(check_members(state, command.project, &project));
  if (project.spec != command.project.spec) ++project.metadata.generation;
  take_user_metadata(project.metadata, metadata);
  project.spec = command.project.spec;
  touch(state, project);
  return Ok;
}

Status apply(State& state, const DeleteProject& command, Instant) {
  TRY_STATUS(check_present(state.projects, "project", command.name, command.version));
  std::string prefix = cat(command.name, "/");
  auto in_project = [&](const auto& objects) {
    auto first = objects.lower_bound(prefix);
    return first != objects.end() && first->first.starts_with(prefix);
  };
  if (in_project(state.jobs) || in_project(state.secrets))
    return error(Code::kConflict,
                 cat("project ", quoted(command.name), " still has jobs or secrets"), {},
                 "delete them first");
  erase(state, state.projects, kProjectKind, command.name);
  state.planner.erase_project(command.name);
  return Ok;
}

Status apply(State& state, const CreateSecret& command, Instant now) {
  const api::Metadata& metadata = command.secret.metadata;
  std::string key = object_key(metadata.project, metadata.name);
  if (!state.projects.contains(metadata.project))
    return error(Code::kNotFound, cat("there is no project ", quoted(metadata.project)),
                 "metadata.project");
  if (state.secrets.contains(key)) return already("secret", metadata.name);
  if (static_cast<int64_t>(state.secrets.size()) >= kSecretLimit)
    return error(Code::kExhausted, cat("there are ", kSecretLimit, " secrets already"));
  api::Secret& secret = state.secrets.emplace(key, command.secret).first->second;
  stamp(secret.metadata, now);
  touch(state, secret);
  return Ok;
}

Status apply(State& state, const ReplaceSecret& command, Instant) {
  const api::Metadata& metadata = command.secret.metadata;
  std::string key = object_key(metadata.project, metadata.name);
  TRY_STATUS(check_present(state.secrets, "secret", key, metadata.resourceVersion));
  api::Secret& secret = state.secrets.at(key);
  if (secret.data != command.secret.data) ++secret.metadata.generation;
  take_user_metadata(secret.metadata, metadata);
  secret.data = command.secret.data;
  touch(state, secret);
  return Ok;
}

Status apply(State& state, const DeleteSecret& command, Instant) {
  std::string key = object_key(command.project, command.name);
  TRY_STATUS(check_present(state.secrets, "secret", key, command.version));
  erase(state, state.secrets, kSecretKind, key);
  return Ok;
}

Status apply(State& state, const ReplaceNode& command, Instant now) {
  const api::Metadata& metadata = command.node.metadata;
  TRY_STATUS(check_present(state.nodes, "node", metadata.name, metadata.resourceVersion));
  api::Node& node = state.nodes.at(metadata.name);
  if (node.spec.unschedulable != command.node.spec.unschedulable) {
    ++node.metadata.generation;
    bool cordoned = command.node.spec.unschedulable;
    emit_event(state, kNodeKind, node.metadata, cordoned, cordoned ? "Cordoned" : "Uncordoned",
               cordoned ? "nothing new is placed here" : "new tasks may be placed here", now);
  }
  take_user_metadata(node.metadata, metadata);
  node.spec = command.node.spec;
  touch(state, node);
  return Ok;
}

Status apply(State& state, const ObserveNode& command, Instant now) {
  const std::string& name = command.node.metadata.name;
  auto [found, is_new] = state.nodes.emplace(name, command.node);
  api::Node& node = found->second;
  if (is_new) {
    stamp(node.metadata, now);
    emit_event(state, kNodeKind, node.metadata, false, "Registered", "the node has joined", now);
  } else if (node.status == command.node.status) {
    return Ok;
  }
  if (!is_new && node.status.ready != command.node.status.ready)
    emit_event(state, kNodeKind, node.metadata, !command.node.status.ready,
               command.node.status.ready ? "Ready" : "NotReady",
               command.node.status.ready ? "the engine answers again" : command.node.status.message,
               now);
  node.status = command.node.status;
  touch(state, node);
  return Ok;
}

namespace {

void observe_accelerator(State& state, const api::Accelerator& seen, Instant now) {
  auto [found, is_new] = state.accelerators.emplace(seen.metadata.name, seen);
  api::Accelerator& device = found->second;
  if (is_new)
    stamp(device.metadata, now);
  else if (device.status == seen.status)
    return;
  bool fenced = seen.status.health == api::Health::kFenced;
  if (is_new ? fenced : device.status.health != seen.status.health)
    emit_event(state, kAcceleratorKind, device.metadata, fenced, fenced ? "Fenced" : "Healthy",
               fenced ? seen.status.message : "in service again", now);
  device.status = seen.status;
  touch(state, device);
}

bool is_held(const State& state, const std::string& uuid) {
  return std::any_of(state.holding.begin(), state.holding.end(), [&](const std::string& id) {
    const auto& held = state.tasks.at(id).allocations;
    return std::any_of(held.begin(), held.end(),
                       [&](const api::Allocation& a) { return a.accelerator == uuid; });
  });
}

}  // namespace

Status apply(State& state, const ObserveAccelerators& command, Instant now) {
  std::set<std::string> seen;
  for (const api::Accelerator& device : command.accelerators) {
    seen.insert(device.metadata.name);
    observe_accelerator(state, device, now);
  }
  std::vector<std::string> missing;
  for (const auto& [uuid, device] : state.accelerators)
    if (device.status.node == command.node && !seen.contains(uuid)) missing.push_back(uuid);
  for (const std::string& uuid : missing) {
    // One that a task holds stays in the books until it is let go, so that usage keeps adding up.
    api::Accelerator& device = state.accelerators.at(uuid);
    if (is_held(state, uuid)) {
      api::Accelerator lost = device;
      lost.status.health = api::Health::kFenced;
      lost.status.message = "the device is gone";
      observe_accelerator(state, lost, now);
    } else {
      emit_event(state, kAcceleratorKind, device.metadata, true, "Removed", "the device is gone",
                 now);
      erase(state, state.accelerators, kAcceleratorKind, uuid);
      state.stale_nodes.insert(command.node);
      state.plan_needed = true;
    }
  }
  return Ok;
}

}  // namespace tessera::core
