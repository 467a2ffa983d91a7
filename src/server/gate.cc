#include "server/gate.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/text.h"

namespace tessera::server {

namespace {

// Names of accounts change rarely; a wrong one for so long is no harm.
constexpr Millis kAccountMemory{30'000};
constexpr size_t kAccountLimit = 1024;
// How old a token's last use may be before it is noted anew (the core keeps to the same).
constexpr Millis kUseGrain{15LL * 60 * 1000};

std::string_view bearer(const net::Headers& headers) {
  constexpr std::string_view kScheme = "Bearer ";
  std::string_view value = headers.get("Authorization");
  return value.size() > kScheme.size() &&
                 net::same_ignoring_case(value.substr(0, kScheme.size()), kScheme)
             ? trim(value.substr(kScheme.size()))
             : std::string_view();
}

template <class E>
std::string_view name_of(E value) {
  return enum_names(value)[static_cast<size_t>(value)];
}

Error not_allowed(const api::RouteInfo& route, const Identity& caller, const std::string& project) {
  const api::PermissionInfo& row = api::permission_info(route.permission);
  std::string who = cat("user ", quoted(caller.user), " lacks ", name_of(route.permission));
  if (row.project && !project.empty())
    return error(Code::kPermissionDenied, cat(who, " in project ", quoted(project)), {},
                 cat("the role ", name_of(*row.project), " in the project gives it"));
  return error(Code::kPermissionDenied, std::move(who), {},
               cat("the cluster's role ", name_of(row.cluster), " gives it"));
}

// The same for every connection of one caller's machine or account.
std::string source_of(const net::Peer& peer) {
  return peer.address.empty() ? cat("uid ", peer.uid) : peer.address;
}

}  // namespace

std::string origin_of(const net::Peer& peer) {
  if (!peer.address.empty()) return peer.address;
  return cat("uid ", peer.uid, ", pid ", peer.pid);
}

bool Gate::owns_server(const net::Peer& peer) const {
  if (peer.uid == 0 || peer.uid == ::geteuid()) return true;
  if (!options_.admin_group) return false;
  return peer.gid == *options_.admin_group ||
         std::ranges::find(peer.groups, *options_.admin_group) != peer.groups.end();
}

std::string Gate::account_name(uint32_t uid, Instant now) {
  auto found = accounts_.find(uid);
  if (found != accounts_.end() && now < found->second.until) return found->second.name;
  std::vector<char> buffer(16 << 10);
  passwd entry{}, *result = nullptr;
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &result);
  if (accounts_.size() >= kAccountLimit) accounts_.clear();
  std::string name = result ? result->pw_name : cat("uid-", uid);
  accounts_[uid] = {name, now + kAccountMemory};
  return name;
}

Result<Identity> Gate::by_account(const net::Peer& peer, Instant now) {
  Identity caller{.user = account_name(peer.uid, now),
                  .token = {},
                  .from = origin_of(peer),
                  .owner = owns_server(peer)};
  if (view_.accounts()->knows(caller, now)) return caller;
  return error(Code::kUnauthenticated, cat("there is no user ", quoted(caller.user), " in Tessera"),
               {}, cat("an admin can add you: 'tessera user create ", caller.user, "'"));
}

Error Gate::too_many(const std::string& address, const std::string& prefix, Error failure,
                     Instant now) {
  std::string by_address = cat("address ", address), by_prefix = cat("prefix ", prefix);
  int64_t most = std::max(failures_.add(by_address, now), failures_.add(by_prefix, now));
  if (most <= kFailedSignInLimit) return failure;
  Millis left = std::max(failures_.left(by_address, now), failures_.left(by_prefix, now));
  return error(Code::kExhausted, cat("too many failed sign-ins from ", address), {},
               cat("the token is wrong; try another one in ",
                   format_duration(Millis{(left.value / 1000 + 1) * 1000})));
}

Result<Identity> Gate::by_token(const std::string& token, const net::Peer& peer, Instant now) {
  std::string prefix = token.substr(0, kTokenPrefix);
  auto fail = [&](std::string message, std::string hint) {
    return too_many(source_of(peer), prefix,
                    error(Code::kUnauthenticated, std::move(message), {}, std::move(hint)), now);
  };
  std::shared_ptr<const Accounts> accounts = view_.accounts();
  const Accounts::TokenFacts* facts = accounts->find_token(to_hex(sha256(token)));
  if (!facts)
    return fail("the token is not known: it is wrong, or was revoked",
                "make a new one with 'tessera token create' and sign in with 'tessera login'");
  if (facts->expires && *facts->expires <= now)
    return fail(cat("the token ", facts->name, " expired on ", format_instant(*facts->expires)),
                "make a new one with 'tessera token create'");
  Identity caller{.user = facts->user,
                  .token = facts->name,
                  .from = cat(origin_of(peer), ", token ", facts->name),
                  .owner = false};
  if (!accounts->knows(caller, now))
    return fail(cat("user ", quoted(caller.user), " is disabled"), "ask an admin");
  if (!facts->last_used || now - *facts->last_used >= kUseGrain) used_(facts->name);
  return caller;
}

Result<Identity> Gate::identify(const net::Headers& headers, const net::Peer& peer, Instant now) {
  std::string_view token = bearer(headers);
  if (!token.empty()) return by_token(std::string(token), peer, now);
  if (headers.find("Authorization"))
    return error(Code::kUnauthenticated, "is not of the form 'Bearer TOKEN'", "Authorization");
  if (peer.address.empty() && peer.uid != UINT32_MAX) return by_account(peer, now);
  return error(Code::kUnauthenticated, "who you are is not known", {},
               "sign in with 'tessera login', or send 'Authorization: Bearer TOKEN'");
}

void Gate::note_denial(const api::RouteInfo& route, const net::Request& request,
                       const std::string& source, const Identity& caller, const Error& failure,
                       Instant now) {
  if (denials_.add(cat(source, " ", caller.user), now) > kDenialRowLimit) return;
  record_({.user = caller.user,
           .from = caller.from,
           .action = std::string(route.id),
           .object = request.path.substr(0, kAuditTextLimit),
           .routine = false,
           .refusal = failure});
}

Result<Identity> Gate::admit(const api::RouteInfo& route, const net::Request& request,
                             const net::Peer& peer, const std::string& project) {
  if (route.permission == api::Permission::kPublic) return Identity{};
  Instant now = wall_now();
  Result<Identity> caller = identify(request.headers, peer, now);
  if (!caller.ok()) {
    note_denial(route, request, source_of(peer),
                {.user = {}, .token = {}, .from = origin_of(peer), .owner = false}, caller.error(),
                now);
    return caller;
  }
  if (view_.accounts()->allows(*caller, route.permission, project)) return caller;
  Error failure = not_allowed(route, *caller, project);
  note_denial(route, request, source_of(peer), *caller, failure, now);
  return failure;
}

}  // namespace tessera::server
