#pragma once
// Who may do what, as of the last committed tick: users, tokens and memberships in the form in
// which every request asks for them.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/accounts.h"
#include "core/state.h"

namespace tessera::server {

struct Entry;

// Who made a request. What it may do is not part of it: that is asked anew each time.
struct Identity {
  std::string user;
  std::string token;   // name of the Token; empty on the server's own socket
  std::string from;    // the address, or the local account, for people
  bool owner = false;  // root, or of the socket's group: an admin without being a User

  // Tells callers apart that go by the same name.
  std::string key() const { return owner ? "local/" + user : "user/" + user; }
};

// Immutable: made by the brain when one of these kinds has changed, shared by all readers.
class Accounts {
 public:
  explicit Accounts(const core::State& state);

  struct TokenFacts {
    std::string name;
    std::string user;
    std::optional<Instant> expires;
    std::optional<Instant> last_used;
  };
  // By the SHA-256 of the token's text; nullptr when there is none.
  const TokenFacts* find_token(const std::string& hash) const;
  const api::UserSpec* find_user(const std::string& name) const;
  // When a token, by name, expires; nullopt when it never does, or there is none of that name.
  std::optional<Instant> end_of(const std::string& token) const;

  // Is the caller still someone: not removed, disabled, revoked or expired?
  bool knows(const Identity& caller, Instant now) const;
  api::ClusterRole role_of(const Identity& caller) const;
  std::optional<api::ProjectRole> role_in(const Identity& caller, const std::string& project) const;
  std::map<std::string, api::ProjectRole> projects_of(const Identity& caller) const;

  bool allows(const Identity& caller, api::Permission permission, const std::string& project) const;
  // May this object be in what the caller's lists and watches show?
  bool shows(const Identity& caller, const Entry& entry) const;

 private:
  std::unordered_map<std::string, TokenFacts> tokens_;  // by hash
  std::unordered_map<std::string, Instant> ends_;       // of the tokens there are, by name
  std::map<std::string, api::UserSpec> users_;
  std::map<std::string, std::map<std::string, api::ProjectRole>> members_;  // by project
};

}  // namespace tessera::server
