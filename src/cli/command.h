#pragma once
// A command as a row: what it is called, what it takes, what it does. The one list of them is
// commands() in cli/commands.cc; help, completion and the reference are made from the rows.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "client/client.h"
#include "client/settings.h"

namespace tessera::cli {

// What a command gets to work with; one for each run of the program.
class Context {
 public:
  Context(const Console& console_, client::Settings settings_)
      : console(console_),
        settings(std::move(settings_)),
        client(settings.host ? client::Client(*settings.host, settings.token)
                             : client::Client(settings.socket, settings.token)) {}

  const Console& console;
  const client::Settings settings;
  client::Client client;

  // Path parameters of an object of the project.
  client::PathParams path(std::string_view name) const {
    return {{"project", settings.project}, {"name", std::string(name)}};
  }
};

struct Command {
  std::string name;      // "image ls"
  std::string operands;  // as in the usage line: "JOB [COMMAND…]"
  std::string doc;       // one sentence
  std::string details;   // more, for the help; may be empty
  std::vector<Flag> flags;
  // The exit code, or an error, which is printed and becomes the exit code of its kind.
  std::function<Result<int>(Context&, const Args&)> run;

  size_t least = 0;  // operands
  size_t most = 0;
  Order order = Order::kAnywhere;
  std::string completes;  // what the operands name: "job", "node", "kind", "image", "file"
  bool connects = true;   // takes --server, --context and --project
  bool hidden = false;
  int failure_exit = 0;  // exit code of every error, when it is not that of the error's kind
};

inline constexpr size_t kAnyNumber = SIZE_MAX;

// The flags of the row and those that every command has.
std::vector<Flag> all_flags(const Command& command);

}  // namespace tessera::cli
