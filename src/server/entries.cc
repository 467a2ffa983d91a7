#include "server/entries.h"

namespace tessera::server {

using core::kAcceleratorKind, core::kJobKind, core::kNodeKind, core::kProjectKind,
    core::kSecretKind, core::kTaskKind, core::kTokenKind, core::kUserKind;

bool exists(const core::State& state, std::string_view kind, const std::string& key) {
  if (kind == kJobKind) return state.jobs.contains(key);
  if (kind == kTaskKind) return state.tasks.contains(key);
  if (kind == kProjectKind) return state.projects.contains(key);
  if (kind == kSecretKind) return state.secrets.contains(key);
  if (kind == kNodeKind) return state.nodes.contains(key);
  if (kind == kUserKind) return state.users.contains(key);
  if (kind == kTokenKind) return state.tokens.contains(key);
  CHECK(kind == kAcceleratorKind);
  return state.accelerators.contains(key);
}

namespace {

// As the store has it.
Entry entry_in(const core::State& state, std::string_view kind, const std::string& key) {
  if (kind == kJobKind) return entry_of(kind, key, state.jobs.at(key));
  if (kind == kProjectKind) return entry_of(kind, key, state.projects.at(key));
  if (kind == kSecretKind) return entry_of(kind, key, state.secrets.at(key));
  if (kind == kNodeKind) return entry_of(kind, key, state.nodes.at(key));
  if (kind == kAcceleratorKind) return entry_of(kind, key, state.accelerators.at(key));
  if (kind == kUserKind) return entry_of(kind, key, state.users.at(key));
  if (kind == kTokenKind) return entry_of(kind, key, state.tokens.at(key));
  CHECK(kind == kTaskKind);
  const api::Task& task = state.tasks.at(key);
  return make_entry(kind, key, task.project, state.version, task, api::is_terminal(task.phase));
}

}  // namespace

std::vector<Entry> touched_entries(const core::State& state, const core::Changes& changes) {
  std::vector<Entry> entries;
  for (const auto& [kind, keys] : changes.touched)
    for (const std::string& key : keys)
      if (exists(state, kind, key)) entries.push_back(entry_in(state, kind, key));
  return entries;
}

}  // namespace tessera::server
