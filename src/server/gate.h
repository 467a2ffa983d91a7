#pragma once
// The gate that every request passes: who is it, and may they? Whom it turns away is in the audit
// log.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "api/routes.h"
#include "net/http.h"
#include "server/attempts.h"
#include "server/control.h"
#include "server/view.h"

namespace tessera::server {

// Failed sign-ins in a minute from one address, and with one beginning of a token, before the
// answer is "too many". A right token is let in all the same: where many share an address (CI
// behind one gateway), one wrong configuration must not lock the others out, and tokens are far too
// long to be guessed at any rate.
inline constexpr int64_t kFailedSignInLimit = 20;
// Rows that one caller's refusals put into the audit log in a minute, so that nobody can wash it
// out.
inline constexpr int64_t kDenialRowLimit = 60;

// "tessera_" and 64 hexadecimal digits: 256 random bits. That is why one round of SHA-256 without
// salt keeps them safe at rest: there is no dictionary to try, as there is for passwords.
inline constexpr std::string_view kTokenMark = "tessera_";
inline constexpr size_t kTokenBytes = 32;
// So much of a token tells it apart for people; 224 bits stay unknown.
inline constexpr size_t kTokenPrefix = kTokenMark.size() + 8;

struct GateOptions {
  // Besides root and the server's own user: the group whose members are admins.
  std::optional<uint32_t> admin_group;
};

// Lives on the I/O thread.
class Gate {
 public:
  using Record = std::function<void(Attempt attempt)>;
  using Used = std::function<void(const std::string& token)>;
  // `record` takes a row for the audit log, `used` is told of a token that has signed someone in.
  Gate(const View& view, GateOptions options, Record record, Used used)
      : view_(view), options_(options), record_(std::move(record)), used_(std::move(used)) {}

  // The caller, or why not: kUnauthenticated, kPermissionDenied, kExhausted. `project` is the one
  // that the path names.
  Result<Identity> admit(const api::RouteInfo& route, const net::Request& request,
                         const net::Peer& peer, const std::string& project);

 private:
  Result<Identity> identify(const net::Headers& headers, const net::Peer& peer, Instant now);
  Result<Identity> by_token(const std::string& token, const net::Peer& peer, Instant now);
  Result<Identity> by_account(const net::Peer& peer, Instant now);
  Error too_many(const std::string& address, const std::string& prefix, Error failure, Instant now);
  std::string account_name(uint32_t uid, Instant now);
  bool owns_server(const net::Peer& peer) const;
  void note_denial(const api::RouteInfo& route, const net::Request& request,
                   const std::string& source, const Identity& caller, const Error& failure,
                   Instant now);

  const View& view_;
  const GateOptions options_;
  const Record record_;
  const Used used_;
  Attempts failures_;
  Attempts denials_;
  // Names of local accounts; asking for one may take a network round trip.
  struct Account {
    std::string name;
    Instant until;
  };
  std::map<uint32_t, Account> accounts_;
};

// Where a request came from, for people.
std::string origin_of(const net::Peer& peer);

}  // namespace tessera::server
