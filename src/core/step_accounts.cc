// Users and their tokens.

#include <algorithm>

#include "core/step_internal.h"

namespace tessera::core {

namespace {

// A use is noted at most so often: a busy client signs in thousands of times a second.
constexpr Millis kTokenUseGrain{15LL * 60 * 1000};

// Their rights must not pass to the next user of that name.
void drop_memberships(State& state, const std::string& user) {
  for (auto& [name, project] : state.projects) {
    if (project.spec.members.erase(user) == 0) continue;
    ++project.metadata.generation;
    touch(state, project);
  }
}

void drop_tokens(State& state, const std::string& user) {
  std::vector<std::string> names;
  for (const auto& [name, token] : state.tokens)
    if (token.spec.user == user) names.push_back(name);
  for (const std::string& name : names) erase(state, state.tokens, kTokenKind, name);
}

}  // namespace

Status apply(State& state, const CreateUser& command, Instant now) {
  const std::string& name = command.user.metadata.name;
  if (state.users.contains(name)) return already("user", name);
  if (static_cast<int64_t>(state.users.size()) >= kUserLimit)
    return error(Code::kExhausted, cat("there are ", kUserLimit, " users already"), {},
                 "remove some");
  api::User& user = state.users.emplace(name, command.user).first->second;
  stamp(user.metadata, now);
  touch(state, user);
  return Ok;
}

Status apply(State& state, const ReplaceUser& command, Instant) {
  const api::Metadata& metadata = command.user.metadata;
  TRY_STATUS(check_present(state.users, "user", metadata.name, metadata.resourceVersion));
  api::User& user = state.users.at(metadata.name);
  if (user.spec != command.user.spec) ++user.metadata.generation;
  take_user_metadata(user.metadata, metadata);
  user.spec = command.user.spec;
  touch(state, user);
  return Ok;
}

Status apply(State& state, const DeleteUser& command, Instant) {
  TRY_STATUS(check_present(state.users, "user", command.name, command.version));
  drop_memberships(state, command.name);
  drop_tokens(state, command.name);
  erase(state, state.users, kUserKind, command.name);
  return Ok;
}

Status apply(State& state, const CreateToken& command, Instant now) {
  const api::Token& wanted = command.token;
  if (!state.users.contains(wanted.spec.user))
    return error(Code::kNotFound, cat("there is no user ", quoted(wanted.spec.user)), "spec.user");
  if (state.tokens.contains(wanted.metadata.name)) return already("token", wanted.metadata.name);
  if (wanted.spec.expires && *wanted.spec.expires <= now)
    return error(Code::kInvalid, "is not in the future", "spec.expires");
  int64_t own = std::ranges::count_if(
      state.tokens, [&](const auto& one) { return one.second.spec.user == wanted.spec.user; });
  if (own >= kTokenLimit)
    return error(Code::kExhausted,
                 cat("user ", quoted(wanted.spec.user), " has ", kTokenLimit, " tokens already"),
                 {}, "'tessera token ls' lists them, 'tessera token rm' revokes one");
  api::Token& token = state.tokens.emplace(wanted.metadata.name, wanted).first->second;
  stamp(token.metadata, now);
  touch(state, token);
  return Ok;
}

Status apply(State& state, const DeleteToken& command, Instant) {
  TRY_STATUS(check_present(state.tokens, "token", command.name, command.version));
  erase(state, state.tokens, kTokenKind, command.name);
  return Ok;
}

Status apply(State& state, const UseToken& command, Instant now) {
  auto found = state.tokens.find(command.name);
  if (found == state.tokens.end()) return Ok;  // revoked meanwhile
  std::optional<Instant>& last = found->second.status.lastUsed;
  if (last && now - *last < kTokenUseGrain) return Ok;
  last = now;
  touch(state, found->second);
  return Ok;
}

}  // namespace tessera::core
