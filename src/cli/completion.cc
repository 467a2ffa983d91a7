#include "cli/completion.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/objects.h"

namespace tessera::cli {

namespace {

// Somebody waits at the prompt.
constexpr Millis kPatience{1500};

std::vector<std::string> beginning_with(std::string_view begun, std::vector<std::string> words) {
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(begun); });
  return words;
}

// The next word of the names of commands that begin with the words before.
std::vector<std::string> command_words(std::span<const Command> commands,
                                       std::span<const std::string> before) {
  std::set<std::string> out;
  for (const Command& command : commands) {
    std::vector<std::string> name = split(command.name, ' ');
    if (!command.hidden && name.size() > before.size() &&
        std::equal(before.begin(), before.end(), name.begin()))
      out.insert(name[before.size()]);
  }
  return {out.begin(), out.end()};
}

const Flag* find_flag(std::span<const Flag> flags, std::string_view word) {
  for (const Flag& flag : flags)
    if (word == cat("--", flag.name) ||
        (word.size() == 2 && word[0] == '-' && word[1] == flag.letter))
      return &flag;
  return nullptr;
}

std::vector<std::string> flag_values(const Flag& flag, const NamesOf& names_of) {
  if (!flag.choices.empty()) return flag.choices;
  if (flag.name == "project") return names_of("project");
  return {};
}

std::vector<std::string> operand_values(const Command& command,
                                        const std::vector<std::string>& before,
                                        const NamesOf& names_of) {
  if (command.completes == "kind") {
    if (!before.empty()) return names_of(before[0]);
    std::vector<std::string> out;
    for (const ObjectKind& kind : object_kinds()) out.emplace_back(kind.info().plural);
    return out;
  }
  bool more = before.size() < command.most && (command.order == Order::kAnywhere || before.empty());
  return more && !command.completes.empty() ? names_of(command.completes)
                                            : std::vector<std::string>();
}

const Command* longest_match(std::span<const Command> commands, std::span<const std::string> words,
                             size_t& count) {
  const Command* best = nullptr;
  for (const Command& command : commands) {
    std::vector<std::string> name = split(command.name, ' ');
    if (name.size() <= count || name.size() > words.size() ||
        !std::equal(name.begin(), name.end(), words.begin()))
      continue;
    best = &command;
    count = name.size();
  }
  return best;
}

}  // namespace

std::vector<std::string> complete(std::span<const Command> commands,
                                  std::span<const std::string> words, const NamesOf& names_of) {
  if (words.empty()) return {};
  std::string_view begun = words.back();
  std::span<const std::string> before = words.first(words.size() - 1);
  size_t used = 0;
  const Command* command = longest_match(commands, before, used);
  if (!command) return beginning_with(begun, command_words(commands, before));

  std::vector<Flag> flags = all_flags(*command);
  std::vector<std::string> operands;
  const Flag* open = nullptr;  // takes the next word as its value
  for (const std::string& word : before.subspan(used)) {
    const Flag* flag = open ? nullptr : find_flag(flags, word);
    if (!open && !word.starts_with('-')) operands.push_back(word);
    open = flag && !flag->value.empty() ? flag : nullptr;
  }
  if (open) return beginning_with(begun, flag_values(*open, names_of));
  bool flags_end = command->order == Order::kBeforeOperands && !operands.empty();
  if (begun.starts_with('-') && !flags_end) {
    std::vector<std::string> out;
    for (const Flag& flag : flags)
      if (!flag.hidden) out.push_back(cat("--", flag.name));
    return beginning_with(begun, std::move(out));
  }
  return beginning_with(begun, operand_values(*command, operands, names_of));
}

namespace {

constexpr std::string_view kBash = R"sh(# bash completion of tessera: source it, or put it into
# /etc/bash_completion.d/tessera
_tessera() {
  local IFS=$'\n'
  COMPREPLY=($(tessera __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _tessera tessera
)sh";

constexpr std::string_view kZsh = R"sh(#compdef tessera
# zsh completion of tessera: put it as _tessera into a folder of $fpath, or source it
_tessera() {
  local -a found
  found=(${(f)"$(tessera __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ${#found} )); then
    compadd -a found
  else
    _files
  fi
}
compdef _tessera tessera
)sh";

constexpr std::string_view kFish = R"sh(# fish completion of tessera: put it into
# ~/.config/fish/completions/tessera.fish
function __tessera_complete
  tessera __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c tessera -a '(__tessera_complete)'
)sh";

Result<int> print_script(Context& context, const Args& args) {
  const std::string& shell = args.operands[0];
  if (shell == "bash")
    context.console.print(kBash);
  else if (shell == "zsh")
    context.console.print(kZsh);
  else if (shell == "fish")
    context.console.print(kFish);
  else
    return error(Code::kInvalid, cat(quoted(shell), " is not a shell that is known"), {},
                 "there are bash, zsh, fish");
  return 0;
}

std::vector<std::string> object_names(Context& context, const std::string& what) {
  std::vector<std::string> out;
  if (what == "image") {
    auto images =
        context.client.call(api::routes::kListImages, {}, {}, {}, {.deadline = kPatience});
    if (images.ok())
      for (const api::Image& image : images->items) out.push_back(image.reference);
    return out;
  }
  auto kind = find_object_kind(what);
  if (!kind.ok()) return out;
  auto list = context.client.call_tree(
      {*(*kind)->list, {{"project", context.settings.project}}, {}, {}, {}}, kPatience);
  if (list.ok())
    for (const Value& item : *list->find("items")->list())
      out.push_back(item.text("metadata", "name"));
  return out;
}

}  // namespace

Command completion_command() {
  return {.name = "completion",
          .operands = "bash|zsh|fish",
          .doc = "Prints a script that lets the shell complete commands, flags and names.",
          .run = print_script,
          .least = 1,
          .most = 1,
          .connects = false};
}

Command complete_command(ListCommands list) {
  auto run = [list = std::move(list)](Context& context, const Args& args) -> Result<int> {
    auto names_of = [&](const std::string& what) { return object_names(context, what); };
    for (const std::string& word : complete(list(), args.operands, names_of))
      context.console.print(cat(word, "\n"));
    return 0;
  };
  return {.name = "__complete",
          .operands = "-- WORD…",
          .doc = "Prints what may stand at the cursor; called by the completion scripts.",
          .run = run,
          .most = kAnyNumber,
          .order = Order::kBeforeOperands,
          .hidden = true};
}

}  // namespace tessera::cli
