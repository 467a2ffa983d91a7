// Users, tokens, who the caller is, and the audit log.

#include "api/validate.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/text.h"
#include "server/encode.h"
#include "server/services.h"

namespace tessera::server {

namespace routes = api::routes;
using api::DeleteQuery, api::Nothing;

namespace {

void bind_users(Router& router, Services& services) {
  router.bind(routes::kCreateUser, std::function([&services](Call call, Nothing, api::User user) {
                Status valid = api::validate(user);
                if (!valid.ok()) return call.refuse(valid.error());
                prepare_new(user.metadata);
                user.metadata.project.clear();
                submit(services, call, core::kUserKind, core::CreateUser{std::move(user)}, 201);
              }));
  router.bind(routes::kGetUser, get_object(services, core::kUserKind));
  router.bind(routes::kReplaceUser, std::function([&services](Call call, Nothing, api::User user) {
                Status valid = settle_name(user.metadata, call);
                if (valid.ok()) valid = api::validate(user);
                if (!valid.ok()) return call.refuse(valid.error());
                submit(services, call, core::kUserKind, core::ReplaceUser{std::move(user)});
              }));
  router.bind(routes::kDeleteUser,
              std::function([&services](Call call, DeleteQuery query, Nothing) {
                const std::string& name = call.path.at("name");
                remove_object(services, call, core::kUserKind, name,
                              core::DeleteUser{name, query.resourceVersion.value_or(0)});
              }));
}

// A token is its user's affair, and the admin's; to others it is not there.
bool may_touch(const Services& services, const Call& call, const std::string& name) {
  EntryPtr entry = services.view.find(std::string(core::kTokenKind), name);
  if (entry && services.view.accounts()->shows(call.caller, *entry)) return true;
  call.refuse(not_found(core::kTokenKind, name));
  return false;
}

// Fills in what the caller left out, and sees to it that nobody gains by this.
Status settle_token(const Services& services, const Call& call, api::TokenSpec& spec) {
  std::shared_ptr<const Accounts> accounts = services.view.accounts();
  if (spec.user.empty()) spec.user = call.caller.user;
  bool admin = accounts->role_of(call.caller) == api::ClusterRole::kAdmin;
  if (spec.user != call.caller.user && !admin)
    return error(Code::kPermissionDenied, "only an admin makes tokens for others", "spec.user");
  if (std::optional<Instant> end = accounts->end_of(call.caller.token)) {
    if (!spec.expires) spec.expires = end;
    if (*spec.expires > *end)
      return error(Code::kInvalid,
                   cat("is later than ", format_instant(*end),
                       ", when the token that makes this one expires"),
                   "spec.expires");
  }
  return Ok;
}

void create_token(Services& services, const Call& call, api::Token token) {
  Status valid = api::validate(token);
  if (valid.ok()) valid = settle_token(services, call, token.spec);
  if (!valid.ok()) return call.refuse(valid.error());
  std::string digits = to_hex(random_bytes(kTokenBytes)), text = cat(kTokenMark, digits);
  if (token.metadata.name.empty()) token.metadata.name = cat("token-", digits.substr(0, 8));
  prepare_new(token.metadata);
  token.metadata.project.clear();
  token.status = {.prefix = text.substr(0, kTokenPrefix),
                  .hash = to_hex(sha256(text)),
                  .lastUsed = std::nullopt};
  api::IssuedToken answer{.name = token.metadata.name,
                          .user = token.spec.user,
                          .token = std::move(text),
                          .expires = token.spec.expires};
  services.brain.submit({core::CreateToken{std::move(token)}, {}, call.attempt()},
                        [call, answer](Result<std::string> reply) {
                          if (reply.ok())
                            call.answer_object(answer, 201);
                          else
                            call.refuse(reply.error());
                        });
}

void bind_tokens(Router& router, Services& services) {
  router.bind(routes::kCreateToken,
              std::function([&services](Call call, Nothing, api::Token token) {
                create_token(services, call, std::move(token));
              }));
  router.bind(routes::kGetToken, std::function([&services](Call call, Nothing, Nothing) {
                const std::string& name = call.path.at("name");
                if (may_touch(services, call, name))
                  call.answer(services.view.find(std::string(core::kTokenKind), name)->json);
              }));
  router.bind(routes::kDeleteToken,
              std::function([&services](Call call, DeleteQuery query, Nothing) {
                const std::string& name = call.path.at("name");
                if (may_touch(services, call, name))
                  remove_object(services, call, core::kTokenKind, name,
                                core::DeleteToken{name, query.resourceVersion.value_or(0)});
              }));
}

api::AuditRecord to_api(const store::AuditRow& row) {
  return {.number = row.seq,
          .time = row.at,
          .user = row.user,
          .from = row.from,
          .action = row.action,
          .object = row.object,
          .result = row.result,
          .message = row.message};
}

void list_audit(Services& services, const Call& call, const api::AuditQuery& query) {
  store::AuditQuery wanted{.user = std::nullopt,
                           .refused = query.refused,
                           .before = query.before.value_or(INT64_MAX),
                           .limit = query.limit};
  if (!query.user.empty()) wanted.user = query.user;
  services.brain.read_audit(std::move(wanted),
                            [call, limit = query.limit](Result<std::vector<store::AuditRow>> rows) {
                              if (!rows.ok()) return call.refuse(rows.error());
                              api::ListOf<api::AuditRecord> list;
                              for (const store::AuditRow& row : *rows)
                                list.items.push_back(to_api(row));
                              if (static_cast<int64_t>(rows->size()) == limit)
                                list.continue_ = cat(rows->back().seq);
                              call.answer_object(list);
                            });
}

}  // namespace

void bind_accounts(Router& router, Services& services) {
  bind_users(router, services);
  bind_tokens(router, services);
  router.bind(routes::kWhoAmI, std::function([&services](Call call, Nothing, Nothing) {
                std::shared_ptr<const Accounts> accounts = services.view.accounts();
                call.answer_object(api::WhoAmI{.user = call.caller.user,
                                               .role = accounts->role_of(call.caller),
                                               .token = call.caller.token,
                                               .from = call.caller.from,
                                               .projects = accounts->projects_of(call.caller)});
              }));
  router.bind(routes::kListAudit,
              std::function([&services](Call call, api::AuditQuery query, Nothing) {
                list_audit(services, call, query);
              }));
}

}  // namespace tessera::server
