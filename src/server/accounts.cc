#include "server/accounts.h"

#include "server/view.h"

namespace tessera::server {

namespace {
constexpr Instant kNever{INT64_MAX};
}

Accounts::Accounts(const core::State& state) {
  for (const auto& [name, user] : state.users) users_.emplace(name, user.spec);
  for (const auto& [name, token] : state.tokens) {
    tokens_[token.status.hash] = {name, token.spec.user, token.spec.expires, token.status.lastUsed};
    ends_[name] = token.spec.expires.value_or(kNever);
  }
  for (const auto& [name, project] : state.projects)
    if (!project.spec.members.empty()) members_.emplace(name, project.spec.members);
}

const Accounts::TokenFacts* Accounts::find_token(const std::string& hash) const {
  auto found = tokens_.find(hash);
  return found == tokens_.end() ? nullptr : &found->second;
}

const api::UserSpec* Accounts::find_user(const std::string& name) const {
  auto found = users_.find(name);
  return found == users_.end() ? nullptr : &found->second;
}

std::optional<Instant> Accounts::end_of(const std::string& token) const {
  auto found = ends_.find(token);
  if (found == ends_.end() || found->second == kNever) return std::nullopt;
  return found->second;
}

bool Accounts::knows(const Identity& caller, Instant now) const {
  if (caller.owner) return true;
  const api::UserSpec* user = find_user(caller.user);
  if (!user || user->disabled) return false;
  if (caller.token.empty()) return true;
  auto end = ends_.find(caller.token);
  return end != ends_.end() && now < end->second;
}

api::ClusterRole Accounts::role_of(const Identity& caller) const {
  if (caller.owner) return api::ClusterRole::kAdmin;
  const api::UserSpec* user = find_user(caller.user);
  return user ? user->role : api::ClusterRole::kNone;
}

std::optional<api::ProjectRole> Accounts::role_in(const Identity& caller,
                                                  const std::string& project) const {
  auto members = members_.find(project);
  if (caller.owner || members == members_.end()) return std::nullopt;
  auto found = members->second.find(caller.user);
  return found == members->second.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, api::ProjectRole> Accounts::projects_of(const Identity& caller) const {
  std::map<std::string, api::ProjectRole> out;
  for (const auto& [project, members] : members_)
    if (auto role = role_in(caller, project)) out.emplace(project, *role);
  return out;
}

bool Accounts::allows(const Identity& caller, api::Permission permission,
                      const std::string& project) const {
  return api::allows(permission, role_of(caller), role_in(caller, project));
}

bool Accounts::shows(const Identity& caller, const Entry& entry) const {
  if (role_of(caller) == api::ClusterRole::kAdmin) return true;
  if (entry.kind == core::kTokenKind) return entry.tree().text("spec", "user") == caller.user;
  const std::string& project = entry.kind == core::kProjectKind ? entry.key : entry.project;
  return project.empty() || allows(caller, api::Permission::kViewProject, project);
}

}  // namespace tessera::server
