#include "cli/help.h"

#include <algorithm>

#include "base/text.h"
#include "cli/refusals.h"

namespace tessera::cli {

namespace {

constexpr size_t kWidth = 100;

// The text in lines of at most kWidth, each after the first behind `indent` blanks.
std::string wrapped(std::string_view text, size_t indent) {
  std::string out;
  size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += cat("\n", std::string(indent, ' '));
      column = indent;
    }
    if (column > indent) out += ' ';
    out += word;
    column += word.size() + 1;
  }
  return out;
}

std::string flag_lines(std::span<const Flag> flags) {
  // Longer headings get a line of their own.
  constexpr size_t kMostHeading = 34;
  size_t indent = 0;
  for (const Flag& flag : flags)
    if (!flag.hidden) indent = std::max(indent, std::min(flag_heading(flag).size(), kMostHeading));
  indent += 4;
  std::string out;
  for (const Flag& flag : flags) {
    if (flag.hidden) continue;
    std::string line = cat("  ", flag_heading(flag));
    if (line.size() + 2 > indent)
      line += cat("\n", std::string(indent, ' '));
    else
      line.append(indent - line.size(), ' ');
    out += cat(line, wrapped(flag.doc, indent), "\n");
  }
  return out;
}

std::string refused_names(const Command& command) {
  std::vector<std::string> names;
  for (const Flag& flag : command.flags)
    if (flag.hidden) names.push_back(cat("--", flag.name));
  return join(names, " ");
}

}  // namespace

std::vector<Flag> all_flags(const Command& command) {
  std::vector<Flag> out = command.flags;
  if (command.connects) {
    out.push_back({"project",
                   0,
                   "NAME",
                   "Project to work in; else TESSERA_PROJECT, the context, the config file, "
                   "'default'.",
                   {}});
    out.push_back({"context",
                   0,
                   "NAME",
                   "Server to talk to, by its name in 'tessera context ls'; else "
                   "TESSERA_CONTEXT, the current one.",
                   {}});
    out.push_back({"server",
                   0,
                   "SERVER",
                   cat("Socket or URL of the server, in place of a context; else TESSERA_HOST, "
                       "TESSERA_SERVER, the config file, ",
                       client::kDefaultSocket, "."),
                   {}});
  }
  bool letter_taken = std::ranges::any_of(out, [](const Flag& flag) { return flag.letter == 'h'; });
  out.push_back({"help", letter_taken ? '\0' : 'h', "", "Print this help.", {}});
  return out;
}

std::string usage_line(const Command& command) {
  return cat("tessera ", command.name, " [FLAGS]", command.operands.empty() ? "" : " ",
             command.operands);
}

std::string help(const Command& command) {
  std::string out = cat("Usage: ", usage_line(command), "\n\n", wrapped(command.doc, 0), "\n");
  if (!command.details.empty()) out += "\n";
  for (const std::string& line : split(command.details, '\n'))
    if (!line.empty()) out += cat(wrapped(line, 0), "\n");
  out += cat("\nFlags:\n", flag_lines(all_flags(command)));
  if (std::string names = refused_names(command); !names.empty())
    out += cat("\nKnown from docker and refused, each with its reason when it is used:\n  ",
               wrapped(names, 2), "\n");
  return out;
}

std::string overview(std::span<const Command> commands) {
  size_t width = 0;
  for (const Command& command : commands)
    if (!command.hidden) width = std::max(width, command.name.size());
  std::string out =
      "Tessera runs containers on GPUs, now or when their turn comes.\n\n"
      "Usage: tessera COMMAND [FLAGS] …\n\nCommands:\n";
  for (const Command& command : commands)
    if (!command.hidden)
      out += cat("  ", command.name, std::string(width - command.name.size() + 3, ' '),
                 wrapped(command.doc, width + 5), "\n");
  out += "\n'tessera COMMAND --help' tells more about one.\n";
  return out;
}

}  // namespace tessera::cli
