#pragma once
// The objects of a state as entries of the view, which are also what the store gets.

#include "core/state.h"
#include "server/encode.h"

namespace tessera::server {

// Names of the counters in the store.
inline constexpr std::string_view kVersionCounter = "version", kSubmissionCounter = "submissions",
                                  kEffectCounter = "effects", kEventCounter = "events",
                                  kAuditCounter = "audit";

template <class Object>
Entry entry_of(std::string_view kind, const std::string& key, const Object& object) {
  bool over = false;
  if constexpr (requires { object.status.phase; }) over = api::is_terminal(object.status.phase);
  return make_entry(kind, key, object.metadata.project, object.metadata.resourceVersion, object,
                    over);
}

// Whether there is such an object now. In one tick a name may be given up and taken again, so
// having been erased says nothing.
bool exists(const core::State& state, std::string_view kind, const std::string& key);

// What changed and is still there, as the store has it.
std::vector<Entry> touched_entries(const core::State& state, const core::Changes& changes);

}  // namespace tessera::server
