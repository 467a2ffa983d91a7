#include "cli/cli.h"

#include <unistd.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"

namespace tessera::cli {

namespace {

// Exit code of a command line that no command understands; docker's and bash's too.
constexpr int kUsageExit = 2;

struct Chosen {
  const Command* command = nullptr;
  std::span<const std::string> words;  // behind the command's name
};

// The command whose name is the longest beginning of the words.
Chosen choose(std::span<const Command> commands, std::span<const std::string> words) {
  Chosen best;
  size_t best_count = 0;
  for (const Command& command : commands) {
    std::vector<std::string> name = split(command.name, ' ');
    bool matches = name.size() > best_count && name.size() <= words.size() &&
                   std::equal(name.begin(), name.end(), words.begin());
    if (!matches) continue;
    best_count = name.size();
    best = {&command, words.subspan(best_count)};
  }
  return best;
}

// Commands of docker, podman, kubectl and Slurm that are called otherwise here.
struct Familiar {
  std::string_view theirs, ours;
};
constexpr Familiar kFamiliar[] = {
    {"rm", "delete job"},      {"images", "image ls"},   {"rmi", "image rm"},
    {"pull", "image pull"},    {"load", "image import"}, {"inspect", "describe job"},
    {"container", "ps"},       {"info", "nodes"},        {"stats", "top"},
    {"nvidia-smi", "top"},     {"port", "port-forward"}, {"create", "apply -f FILE"},
    {"edit", "apply -f FILE"}, {"drain", "cordon"},      {"squeue", "queue"},
    {"sbatch", "submit"},      {"srun", "run"},          {"salloc", "run -it"},
    {"scancel", "stop"},       {"sinfo", "nodes"},       {"sacct", "usage"},
    {"sreport", "usage"},      {"scontrol", "describe"}, {"build", "image build"},
    {"buildx", "image build"},
};

std::string what_instead(std::string_view word, std::span<const std::string_view> names) {
  for (const Familiar& one : kFamiliar)
    if (one.theirs == word) return cat("here it is 'tessera ", one.ours, "'");
  auto near = nearest(word, names);
  return near ? cat("did you mean ", *near, "?") : "'tessera --help' lists them";
}

Error unknown_command(std::span<const Command> commands, std::span<const std::string> words) {
  std::vector<std::string_view> names;
  std::vector<std::string> inside;  // "image" alone: its commands
  for (const Command& command : commands) {
    if (command.hidden) continue;
    names.push_back(std::string_view(command.name).substr(0, command.name.find(' ')));
    if (command.name.starts_with(words[0] + " ")) inside.push_back(command.name);
  }
  if (!inside.empty())
    return error(Code::kInvalid,
                 words.size() > 1 ? cat("unknown command ", quoted(cat(words[0], " ", words[1])))
                                  : cat(quoted(words[0]), " is not a whole command"),
                 {}, cat("there are ", join(inside, ", ")));
  return error(Code::kInvalid, cat("unknown command ", quoted(words[0])), {},
               what_instead(words[0], names));
}

Status check_count(const Command& command, size_t count) {
  if (count >= command.least && count <= command.most) return Ok;
  std::string what = count < command.least ? "too few operands" : "too many operands";
  return error(Code::kInvalid, what, {}, cat("usage: ", usage_line(command)));
}

Result<int> run_command_line(const Command& command, std::span<const std::string> words,
                             const Console& console) {
  TRY(Args args, parse_args(all_flags(command), words, command.order));
  if (args.has("help")) {
    console.print(help(command));
    return 0;
  }
  TRY_STATUS(check_count(command, args.operands.size()));
  client::Settings settings;
  // A broken or missing context must not keep the commands that mend it from running.
  if (command.connects) {
    TRY(settings, client::resolve_settings({.server = args.text("server"),
                                            .context = args.text("context"),
                                            .project = args.text("project")},
                                           client::process_environment()));
  }
  Context context(console, std::move(settings));
  return command.run(context, args);
}

// --server, --context and --project may also stand in front of the command: takes them off.
std::vector<std::string> take_global_flags(std::vector<std::string>& words) {
  size_t count = 0;
  while (count < words.size() &&
         (words[count].starts_with("--server") || words[count].starts_with("--context") ||
          words[count].starts_with("--project")))
    count += words[count].find('=') == std::string::npos ? 2 : 1;
  auto end = words.begin() + static_cast<ptrdiff_t>(std::min(count, words.size()));
  std::vector<std::string> taken(words.begin(), end);
  words.erase(words.begin(), end);
  return taken;
}

// "help run" is "run --help", "--version" is "version"; true when the overview is asked for.
bool asks_overview(std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return true;
  if (words[0] == "--version") words[0] = "version";
  if (words[0] != "help") return false;
  words.erase(words.begin());
  words.push_back("--help");
  return words.size() == 1;
}

}  // namespace

int run_cli(std::span<const std::string> given, const Console& console, std::vector<Command> more) {
  std::vector<Command> list = commands(std::move(more));
  std::vector<std::string> words(given.begin(), given.end());
  std::vector<std::string> flags = take_global_flags(words);
  if (asks_overview(words)) {
    console.print(overview(list));
    return 0;
  }
  Chosen chosen = choose(list, words);
  if (!chosen.command) {
    console.note(unknown_command(list, words).text());
    return kUsageExit;
  }
  flags.insert(flags.end(), chosen.words.begin(), chosen.words.end());
  Result<int> code = run_command_line(*chosen.command, flags, console);
  if (code.ok()) return *code;
  console.note(code.error().text());
  if (chosen.command->failure_exit) return chosen.command->failure_exit;
  return info(code.error().code).exit_code;
}

int run_cli(int argc, char** argv, std::vector<Command> more) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  return run_cli(words, Console(), std::move(more));
}

}  // namespace tessera::cli
