#pragma once
// Who uses Tessera: User and Token, who the caller is, and the audit log.

#include "api/metadata.h"
#include "api/permissions.h"

namespace tessera::api {

struct UserSpec {
  std::string description;
  ClusterRole role = ClusterRole::kNone;
  bool disabled = false;

  bool operator==(const UserSpec&) const = default;
  static constexpr std::string_view kTypeName = "UserSpec";
  static constexpr auto fields() {
    return std::tuple(
        field("description", &UserSpec::description, "For people: full name, mail address.",
              {.maximum = 1024}),
        field("role", &UserSpec::role,
              "Over the cluster: none, operator (cares for nodes, images and all jobs) or admin. "
              "Roles in projects are in the projects' members.",
              {.example = "operator"}),
        field("disabled", &UserSpec::disabled,
              "Refuse the user's tokens for the time being. Jobs go on."));
  }
};
static_assert(schema::complete<UserSpec>());

struct User {
  Metadata metadata;
  UserSpec spec;

  bool operator==(const User&) const = default;
  static constexpr std::string_view kTypeName = "User";
  static constexpr auto fields() {
    return std::tuple(field("metadata", &User::metadata, "Name and labels."),
                      field("spec", &User::spec, "What the admin wants."));
  }
};
static_assert(schema::complete<User>());

struct TokenSpec {
  std::string user;
  std::string description;
  std::optional<Instant> expires;

  bool operator==(const TokenSpec&) const = default;
  static constexpr std::string_view kTypeName = "TokenSpec";
  static constexpr auto fields() {
    return std::tuple(
        field("user", &TokenSpec::user, "Whom it signs in; the caller when empty."),
        field("description", &TokenSpec::description, "What it is for.",
              {.maximum = 1024, .example = "CI of the vision team"}),
        field("expires", &TokenSpec::expires,
              "From when on it is refused; never when empty. A token made by means of a token does "
              "not outlive that one.",
              {.example = "2027-01-31T00:00:00Z"}));
  }
};
static_assert(schema::complete<TokenSpec>());

struct TokenStatus {
  std::string prefix;
  std::string hash;
  std::optional<Instant> lastUsed;

  bool operator==(const TokenStatus&) const = default;
  static constexpr std::string_view kTypeName = "TokenStatus";
  static constexpr auto fields() {
    return std::tuple(
        field("prefix", &TokenStatus::prefix, "How it begins, to recognise it by."),
        field("hash", &TokenStatus::hash, "SHA-256 of the token. Never shown.", {.secret = true}),
        field("lastUsed", &TokenStatus::lastUsed,
              "When it last signed someone in, to within a quarter of an hour."));
  }
};
static_assert(schema::complete<TokenStatus>());

struct Token {
  Metadata metadata;
  TokenSpec spec;
  TokenStatus status;

  bool operator==(const Token&) const = default;
  static constexpr std::string_view kTypeName = "Token";
  static constexpr auto fields() {
    return std::tuple(field("metadata", &Token::metadata, "Name and labels."),
                      field("spec", &Token::spec, "Whom it signs in, and how long."),
                      field("status", &Token::status, "What is.", {.read_only = true}));
  }
};
static_assert(schema::complete<Token>());

// The answer to a new token: the only time that its text is seen.
struct IssuedToken {
  std::string name;
  std::string user;
  std::string token;
  std::optional<Instant> expires;

  bool operator==(const IssuedToken&) const = default;
  static constexpr std::string_view kTypeName = "IssuedToken";
  static constexpr auto fields() {
    return std::tuple(
        field("name", &IssuedToken::name, "Name of the Token object.", {.required = true}),
        field("user", &IssuedToken::user, "Whom it signs in.", {.required = true}),
        field("token", &IssuedToken::token, "The token itself. It is not kept: note it now.",
              {.required = true}),
        field("expires", &IssuedToken::expires, "From when on it is refused."));
  }
};
static_assert(schema::complete<IssuedToken>());

struct WhoAmI {
  std::string user;
  ClusterRole role = ClusterRole::kNone;
  std::string token;
  std::string from;
  std::map<std::string, ProjectRole> projects;

  bool operator==(const WhoAmI&) const = default;
  static constexpr std::string_view kTypeName = "WhoAmI";
  static constexpr auto fields() {
    return std::tuple(
        field("user", &WhoAmI::user, "Name.", {.required = true}),
        field("role", &WhoAmI::role, "Role over the cluster.", {.required = true}),
        field("token", &WhoAmI::token,
              "Name of the token that signed the caller in; empty on the server's own socket."),
        field("from", &WhoAmI::from, "Where the request came from.", {.required = true}),
        field("projects", &WhoAmI::projects, "Roles in projects, as far as there are any."));
  }
};
static_assert(schema::complete<WhoAmI>());

// One attempt to change something.
struct AuditRecord {
  int64_t number = 0;
  Instant time;
  std::string user;
  std::string from;
  std::string action;
  std::string object;
  std::string result;
  std::string message;

  bool operator==(const AuditRecord&) const = default;
  static constexpr std::string_view kTypeName = "AuditRecord";
  static constexpr auto fields() {
    return std::tuple(
        field("number", &AuditRecord::number, "Position in the log.", {.required = true}),
        field("time", &AuditRecord::time, "When.", {.required = true}),
        field("user", &AuditRecord::user, "Who; empty when nobody was signed in."),
        field("from", &AuditRecord::from,
              "The address and token, or the local account and process.", {.required = true}),
        field("action", &AuditRecord::action, "Id of the route.", {.required = true}),
        field("object", &AuditRecord::object, "What it was about: a key or a path."),
        field("result", &AuditRecord::result, "'ok', or the code of the refusal.",
              {.required = true}),
        field("message", &AuditRecord::message, "Why it was refused."));
  }
};
static_assert(schema::complete<AuditRecord>());

struct AuditQuery {
  std::string user;
  bool refused = false;
  std::optional<int64_t> before;
  int64_t limit = 100;

  bool operator==(const AuditQuery&) const = default;
  static constexpr std::string_view kTypeName = "AuditQuery";
  static constexpr auto fields() {
    return std::tuple(
        field("user", &AuditQuery::user, "Only what this user did."),
        field("refused", &AuditQuery::refused, "Only what was refused."),
        field("before", &AuditQuery::before,
              "Only records with lower numbers: the number of the last one of the page before.",
              {.minimum = 1}),
        field("limit", &AuditQuery::limit, "At most so many.", {.minimum = 1, .maximum = 1000}));
  }
};
static_assert(schema::complete<AuditQuery>());

}  // namespace tessera::api
