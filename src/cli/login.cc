// login, context, whoami: servers over the network, and as whom.

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/prompt.h"
#include "cli/table.h"
#include "client/contexts.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;
using client::ContextFile, client::SavedContext;

constexpr size_t kFileLimit = 64 << 10;

std::string own_folder() {
  return client::config_folder(client::process_environment());
}

std::string name_of(api::ClusterRole role) {
  return std::string(enum_names(role)[static_cast<size_t>(role)]);
}

bool same_fingerprint(std::string_view a, std::string_view b) {
  auto bare = [](std::string_view text) {
    std::string out = replace_all(lower(trim(text)), ":", "");
    return out.starts_with("sha256") ? out.substr(6) : out;
  };
  return bare(a) == bare(b);
}

// The CA to trust from now on: one that the person names, or confirms.
Result<std::string> choose_ca(const Console& console, const Args& args,
                              const net::TcpAddress& address, const ContextFile& contexts) {
  if (std::string path = args.text("ca"); !path.empty()) return read_file(path, kFileLimit);
  TRY(std::string shown, net::TlsDialer().fetch_authority(address));
  TRY(std::string fingerprint, net::fingerprint(shown));
  if (std::string wanted = args.text("ca-fingerprint"); !wanted.empty()) {
    if (same_fingerprint(wanted, fingerprint)) return shown;
    return error(Code::kUnauthenticated,
                 cat("the server's CA has the fingerprint ", fingerprint, ", not the given one"),
                 Args::label("ca-fingerprint"),
                 "it is another server, or was set up anew: ask its admin");
  }
  for (const SavedContext& known : contexts.contexts)
    if (auto url = client::parse_url(known.server);
        url.ok() && *url == address && known.ca == shown)
      return shown;
  if (!console.in_is_terminal())
    return error(Code::kInvalid, cat("the server's CA is not known here: ", fingerprint), {},
                 "compare it with what the server logged at its start, then give it with "
                 "--ca-fingerprint");
  TRY(std::string answer,
      ask(console, cat("The CA of this server is new here. Its fingerprint is\n  ", fingerprint,
                       "\nThe server prints the same one at its start. Trust it? (yes/no) ")));
  if (answer == "yes" || answer == "y") return shown;
  return error(Code::kConflict, "the CA was not confirmed; nothing has changed");
}

Result<std::string> read_token(const Console& console, const Args& args) {
  if (args.has("token-stdin")) {
    TRY(std::string text, console.read_input(kFileLimit));
    return std::string(trim(text));
  }
  if (auto variable = client::process_environment()("TESSERA_TOKEN"); variable) return *variable;
  if (console.in_is_terminal()) {
    TRY(std::string text, ask(console, "Token: ", Echo::kOff));
    return std::string(trim(text));
  }
  return error(Code::kInvalid, "needs a token", {}, "give it on standard input with --token-stdin");
}

Result<int> login(Context& context, const Args& args) {
  const Console& console = context.console;
  TRY(net::TcpAddress address, client::parse_url(args.operands[0]));
  std::string folder = own_folder();
  TRY(ContextFile contexts, client::read_contexts(folder));
  TRY(std::string ca, choose_ca(console, args, address, contexts));
  TRY(std::string token, read_token(console, args));
  net::TlsTarget target{address, ca};
  client::Client client(target, token);
  TRY(api::WhoAmI me, client.call(routes::kWhoAmI));
  SavedContext saved{.name = args.text("name", address.host),
                     .server = target.url(),
                     .ca = std::move(ca),
                     .token = std::move(token),
                     .project = args.text("project")};
  contexts.current = saved.name;
  TRY_STATUS(contexts.put(std::move(saved)));
  TRY_STATUS(client::write_contexts(folder, contexts));
  console.print(cat("signed in to ", target.url(), " as ", me.user, "\n"));
  return 0;
}

Result<int> list_contexts(Context& context, const Args&) {
  TRY(ContextFile file, client::read_contexts(own_folder()));
  Table table{.headers = {"CURRENT", "NAME", "SERVER", "PROJECT"}, .rows = {}};
  for (const SavedContext& one : file.contexts)
    table.rows.push_back(
        {one.name == file.current ? "*" : "", one.name, one.server, or_dash(one.project)});
  if (table.rows.empty())
    context.console.print_error("no contexts; 'tessera login URL' makes one\n");
  else
    context.console.print(table.text());
  return 0;
}

Result<int> use_context(Context& context, const Args& args) {
  TRY(ContextFile file, client::read_contexts(own_folder()));
  if (args.has("none")) {
    file.current.clear();
  } else {
    if (args.operands.empty())
      return error(Code::kInvalid, "needs the name of a context", {}, "or --none");
    TRY(const SavedContext* found, file.find(args.operands[0]));
    file.current = found->name;
  }
  TRY_STATUS(client::write_contexts(own_folder(), file));
  context.console.print(file.current.empty() ? std::string("back to the local socket\n")
                                             : cat("now using ", file.current, "\n"));
  return 0;
}

Result<int> remove_context(Context& context, const Args& args) {
  TRY(ContextFile file, client::read_contexts(own_folder()));
  for (const std::string& name : args.operands) {
    TRY_STATUS(file.find(name));
    std::erase_if(file.contexts, [&](const SavedContext& one) { return one.name == name; });
    if (file.current == name) file.current.clear();
  }
  TRY_STATUS(client::write_contexts(own_folder(), file));
  for (const std::string& name : args.operands)
    context.console.print(cat("context ", name, " removed\n"));
  return 0;
}

Result<int> whoami(Context& context, const Args&) {
  TRY(api::WhoAmI me, context.client.call(routes::kWhoAmI));
  std::string out =
      cat("user:     ", me.user, "\nrole:     ", name_of(me.role), "\nfrom:     ", me.from, "\n");
  for (const auto& [project, role] : me.projects)
    out += cat("project:  ", project, " (", enum_names(role)[static_cast<size_t>(role)], ")\n");
  context.console.print(out);
  return 0;
}

}  // namespace

Command login_command() {
  return {.name = "login",
          .operands = "URL",
          .doc = "Signs in to a server over the network, and makes it the current context.",
          .details =
              "The CA of a server that is new here has to be confirmed by its fingerprint, "
              "which the server logs when it starts. The token is asked for; "
              "'tessera token create' makes one.",
          .flags = {{"token-stdin", 0, "", "Read the token from standard input.", {}},
                    {"ca-fingerprint", 0, "SHA256", "Trust the CA with this fingerprint.", {}},
                    {"ca", 0, "FILE", "Trust the CA whose certificate (PEM) is in this file.", {}},
                    {"name", 0, "NAME", "Name of the context; the host's when not given.", {}},
                    {"project", 0, "NAME", "Project of commands that name none.", {}}},
          .run = login,
          .least = 1,
          .most = 1,
          .connects = false};
}

Command context_ls_command() {
  return {.name = "context ls",
          .operands = "",
          .doc = "Lists the servers that you have signed in to.",
          .run = list_contexts,
          .connects = false};
}

Command context_use_command() {
  return {.name = "context use",
          .operands = "[NAME]",
          .doc = "Chooses the server that commands talk to from now on.",
          .flags = {{"none", 0, "", "Talk to the local socket again.", {}}},
          .run = use_context,
          .most = 1,
          .connects = false};
}

Command context_rm_command() {
  return {.name = "context rm",
          .operands = "NAME…",
          .doc = "Forgets servers and their tokens; the tokens stay valid until they are revoked.",
          .run = remove_context,
          .least = 1,
          .most = kAnyNumber,
          .connects = false};
}

Command whoami_command() {
  return {.name = "whoami",
          .operands = "",
          .doc = "Tells who you are to the server, and which roles that gives.",
          .run = whoami};
}

}  // namespace tessera::cli
