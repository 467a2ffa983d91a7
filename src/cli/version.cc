// version: of this program and of the server.

#include "base/text.h"
#include "cli/commands.h"
#include "wire/json.h"

namespace tessera::cli {

namespace {

Result<int> version(Context& context, const Args& args) {
  auto server = context.client.call(api::routes::kVersion);
  if (args.text("output") == "json") {
    Value out;
    out.set("client", TESSERA_VERSION);
    if (server.ok()) out.set("server", schema::encode(*server));
    context.console.print(cat(wire::to_json(out, 2), "\n"));
  } else {
    std::string out = cat("Client:  ", TESSERA_VERSION, "\n");
    if (server.ok())
      out += cat("Server:  ", server->version, " (", server->apiVersion,
                 server->engine.empty() ? "" : ", ", server->engine, ")\n");
    context.console.print(out);
  }
  if (!server.ok()) return std::move(server).error();
  return 0;
}

}  // namespace

Command version_command() {
  return {.name = "version",
          .operands = "",
          .doc = "Prints the versions of this program, of the server and of its engine.",
          .flags = {{"output", 'o', "FORMAT", "How to print.", {"text", "json"}}},
          .run = version};
}

}  // namespace tessera::cli
