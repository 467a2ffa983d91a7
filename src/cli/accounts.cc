// user, token, project members, audit: who may do what, and who did.

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/objects.h"
#include "cli/schema_doc.h"
#include "cli/table.h"
#include "wire/json.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

// The choices of a flag for an enum of the API.
template <class E>
std::vector<std::string> choices(E) {
  constexpr auto kNames = enum_names(E{});
  return {kNames.begin(), kNames.end()};
}

template <class E>
Result<E> parse_role(std::string_view text) {
  constexpr auto kNames = enum_names(E{});
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == text) return static_cast<E>(i);
  std::vector<std::string> known(kNames.begin(), kNames.end());
  return error(Code::kInvalid, cat(quoted(text), " is not a role"), {},
               cat("there are ", join(known, ", ")));
}

// get and delete with the kind filled in.
Command on_kind(Command command, std::string name, std::string operands, std::string doc,
                std::string kind) {
  command.name = std::move(name);
  command.operands = std::move(operands);
  command.doc = std::move(doc);
  command.run = [run = command.run, kind](Context& context, const Args& args) {
    Args with_kind = args;
    with_kind.operands.insert(with_kind.operands.begin(), kind);
    return run(context, with_kind);
  };
  command.least = 0;
  return command;
}

Command list_of(std::string name, std::string doc, const std::string& kind) {
  Command command = on_kind(get_command(), std::move(name), "", std::move(doc), kind);
  std::erase_if(command.flags, [](const Flag& flag) { return flag.name == "all-projects"; });
  command.most = 0;
  return command;
}

Command removal_of(std::string name, std::string doc, const std::string& kind) {
  Command command = on_kind(delete_command(), std::move(name), "NAME…", std::move(doc), kind);
  command.flags.clear();
  command.least = 1;
  command.completes = kind;
  return command;
}

Result<int> create_user(Context& context, const Args& args) {
  api::User user{.metadata = {.name = args.operands[0]}, .spec = {}};
  user.spec.description = args.text("description");
  TRY(user.spec.role, parse_role<api::ClusterRole>(args.text("role", "none")));
  TRY(auto made, context.client.call(routes::kCreateUser, {}, {}, user));
  context.console.print(cat("user/", made.metadata.name, " created\n"));
  return 0;
}

Result<int> set_user(Context& context, const Args& args) {
  client::PathParams path = {{"name", args.operands[0]}};
  TRY(api::User user, context.client.call(routes::kGetUser, path));
  if (args.has("role")) {
    TRY(user.spec.role, parse_role<api::ClusterRole>(args.text("role")));
  }
  if (args.has("description")) user.spec.description = args.text("description");
  if (args.has("disable") && args.has("enable"))
    return error(Code::kInvalid, "give either --disable or --enable");
  if (args.has("disable")) user.spec.disabled = true;
  if (args.has("enable")) user.spec.disabled = false;
  TRY(auto made, context.client.call(routes::kReplaceUser, path, {}, user));
  context.console.print(cat("user/", made.metadata.name, " changed\n"));
  return 0;
}

Result<int> create_token(Context& context, const Args& args) {
  api::Token token{.metadata = {.name = args.text("name")}, .spec = {}, .status = {}};
  token.spec.user = args.text("user");
  token.spec.description = args.text("description");
  if (std::string lifetime = args.text("expires", "365d"); lifetime != "never") {
    TRY(Millis span, parse_duration(lifetime).in(Args::label("expires")));
    token.spec.expires = wall_now() + span;
  }
  TRY(auto made, context.client.call(routes::kCreateToken, {}, {}, token));
  // The token alone goes to standard output, for $(…).
  context.console.print(cat(made.token, "\n"));
  context.console.print_error(
      cat(made.name, " signs in ", made.user,
          made.expires ? cat(" until ", format_instant(*made.expires)) : std::string(" for ever"),
          ". It is not shown again.\n"));
  return 0;
}

// Changes a project as it is now; whoever was faster is not overwritten.
Result<int> change_project(Context& context, const std::string& name,
                           const std::function<Status(api::ProjectSpec& spec)>& change) {
  client::PathParams path = {{"name", name}};
  TRY(api::Project project, context.client.call(routes::kGetProject, path));
  TRY_STATUS(change(project.spec));
  TRY_STATUS(context.client.call(routes::kReplaceProject, path, {}, project));
  return 0;
}

Status set_paths(const Args& args, std::vector<std::string>& paths) {
  for (std::string& folder : args.all("add-host-path"))
    if (std::ranges::find(paths, folder) == paths.end()) paths.push_back(std::move(folder));
  for (const std::string& folder : args.all("remove-host-path"))
    if (std::erase(paths, folder) == 0)
      return error(Code::kNotFound, cat(folder, " is not among the folders that it may mount"),
                   Args::label("remove-host-path"));
  return Ok;
}

Result<int> set_project(Context& context, const Args& args) {
  const std::string& name = args.operands[0];
  TRY_STATUS(change_project(context, name, [&](api::ProjectSpec& spec) -> Status {
    if (args.has("description")) spec.description = args.text("description");
    if (std::string most = args.text("max-gpus"); most == "none") {
      spec.quota.max.reset();
    } else if (!most.empty()) {
      TRY(int64_t milli, parse_milli(most).in(Args::label("max-gpus")));
      spec.quota.max = MilliGpu{milli};
    }
    return set_paths(args, spec.hostPaths);
  }));
  context.console.print(cat("project/", name, " changed\n"));
  return 0;
}

Result<int> list_members(Context& context, const Args& args) {
  TRY(api::Project project, context.client.call(routes::kGetProject, {{"name", args.operands[0]}}));
  Table table{.headers = {"USER", "ROLE"}, .rows = {}};
  for (const auto& [user, role] : project.spec.members)
    table.rows.push_back({user, std::string(enum_names(role)[static_cast<size_t>(role)])});
  if (table.rows.empty())
    context.console.print_error("no members; operators and admins see the project all the same\n");
  else
    context.console.print(table.text());
  return 0;
}

Result<int> grant(Context& context, const Args& args) {
  const std::string &project = args.operands[0], &user = args.operands[1];
  TRY(auto role, parse_role<api::ProjectRole>(args.operands[2]));
  TRY_STATUS(change_project(context, project, [&](api::ProjectSpec& spec) -> Status {
    spec.members[user] = role;
    return Ok;
  }));
  context.console.print(cat(user, " is now ", args.operands[2], " of project ", project, "\n"));
  return 0;
}

Result<int> revoke(Context& context, const Args& args) {
  const std::string &project = args.operands[0], &user = args.operands[1];
  TRY_STATUS(change_project(context, project, [&](api::ProjectSpec& spec) -> Status {
    if (spec.members.erase(user) > 0) return Ok;
    return error(Code::kNotFound, cat(user, " is not a member of project ", project));
  }));
  context.console.print(cat(user, " is no longer a member of project ", project, "\n"));
  return 0;
}

// The latest `wanted` records, page by page.
Result<std::vector<api::AuditRecord>> read_audit(Context& context, api::AuditQuery query,
                                                 int64_t wanted) {
  std::vector<api::AuditRecord> out;
  while (wanted > 0) {
    query.limit = std::min<int64_t>(wanted, 1000);
    TRY(auto page, context.client.call(routes::kListAudit, {}, query));
    wanted -= static_cast<int64_t>(page.items.size());
    std::ranges::move(page.items, std::back_inserter(out));
    auto next = to_int(page.continue_);
    if (!next) break;
    query.before = next;
  }
  return out;
}

Result<int> audit(Context& context, const Args& args) {
  auto wanted = to_int(args.text("lines", "100"));
  if (!wanted || *wanted < 1)
    return error(Code::kInvalid, "is not a number above 0", Args::label("lines"));
  TRY(auto records,
      read_audit(context, {.user = args.text("user"), .refused = args.has("refused")}, *wanted));
  // Read upwards, printed as logs are: the latest last.
  std::ranges::reverse(records);
  Table table{.headers = {"TIME", "USER", "FROM", "ACTION", "OBJECT", "RESULT"}, .rows = {}};
  for (const api::AuditRecord& one : records) {
    if (args.text("output") == "json")
      context.console.print(cat(wire::to_json(schema::encode(one)), "\n"));
    std::string result = one.message.empty() ? one.result : cat(one.result, ": ", one.message);
    table.rows.push_back({format_instant(one.time), or_dash(one.user), one.from, one.action,
                          or_dash(one.object), result});
  }
  if (args.text("output") != "json") context.console.print(table.text());
  return 0;
}

const Flag kRole = {"role", 0, "ROLE", schema_doc(schema::describe<api::User>(), "spec.role"),
                    choices(api::ClusterRole{})};
const Flag kDescription = {"description", 0, "TEXT", "For people.", {}};

}  // namespace

Command user_create_command() {
  return {.name = "user create",
          .operands = "NAME",
          .doc = "Adds a user; 'tessera token create --user NAME' makes their first token.",
          .flags = {kRole, kDescription},
          .run = create_user,
          .least = 1,
          .most = 1};
}

Command user_set_command() {
  return {.name = "user set",
          .operands = "NAME",
          .doc = "Changes a user; it counts for their next request.",
          .flags = {kRole,
                    kDescription,
                    {"disable", 0, "", "Refuse the user's tokens for the time being.", {}},
                    {"enable", 0, "", "Take the user's tokens again.", {}}},
          .run = set_user,
          .least = 1,
          .most = 1,
          .completes = "user"};
}

Command user_ls_command() {
  return list_of("user ls", "Lists the users.", "users");
}

Command user_rm_command() {
  return removal_of("user rm", "Removes users with their tokens and memberships; jobs stay.",
                    "user");
}

Command token_create_command() {
  return {.name = "token create",
          .operands = "",
          .doc = "Makes a token and prints it, this once.",
          .flags = {{"user", 0, "NAME", "Whom it signs in; yourself when not given.", {}},
                    {"expires", 0, "DURATION", "How long it is good, or never; 365d else.", {}},
                    {"name", 0, "NAME", "Name of it; chosen by the server when not given.", {}},
                    {"description", 0, "TEXT", "What it is for.", {}}},
          .run = create_token};
}

Command token_ls_command() {
  return list_of("token ls", "Lists your tokens, without their texts; for an admin everyone's.",
                 "tokens");
}

Command token_rm_command() {
  return removal_of("token rm", "Revokes tokens: they are refused from now on.", "token");
}

Command project_set_command() {
  const schema::Type& type = schema::describe<api::Project>();
  return {.name = "project set",
          .operands = "PROJECT",
          .doc = "Changes a project's quota, mounts or description; what runs keeps what it has.",
          .flags = {{"max-gpus", 0, "N", cat(schema_doc(type, "spec.quota.max"), " Or none."), {}},
                    {"add-host-path", 0, "FOLDER", "A folder that its jobs may mount.", {}, true},
                    {"remove-host-path", 0, "FOLDER", "One that they no longer may.", {}, true},
                    {"description", 0, "TEXT", schema_doc(type, "spec.description"), {}}},
          .run = set_project,
          .least = 1,
          .most = 1,
          .completes = "project"};
}

Command project_members_command() {
  return {.name = "project members",
          .operands = "PROJECT",
          .doc = "Lists who has which role in a project.",
          .run = list_members,
          .least = 1,
          .most = 1,
          .completes = "project"};
}

Command project_grant_command() {
  return {.name = "project grant",
          .operands = "PROJECT USER viewer|member|maintainer",
          .doc = "Gives a user a role in a project, in place of the one before.",
          .run = grant,
          .least = 3,
          .most = 3,
          .completes = "project"};
}

Command project_revoke_command() {
  return {.name = "project revoke",
          .operands = "PROJECT USER",
          .doc = "Takes a user's role in a project away.",
          .run = revoke,
          .least = 2,
          .most = 2,
          .completes = "project"};
}

Command audit_command() {
  return {
      .name = "audit",
      .operands = "",
      .doc = "Shows who tried to change what, the latest last.",
      .flags = {{"lines", 'n', "N", "How many; 100 when not given.", {}},
                {"user", 0, "NAME", schema_doc(schema::describe<api::AuditQuery>(), "user"), {}},
                {"refused", 0, "", "Only what was refused.", {}},
                {"output", 'o', "FORMAT", "How to print.", {"table", "json"}}},
      .run = audit};
}

}  // namespace tessera::cli
