#pragma once
// sbatch's options as one table: what each does here, or why it is refused. The parser, the command
// line, the help and docs/reference/submit.md all come from it.

#include <span>
#include <string_view>

namespace tessera::slurm {

enum class Takes { kNone, kOptional, kRequired };  // a value

struct Directive {
  std::string_view name;
  char letter;  // 0: none
  Takes takes;
  std::string_view value;    // stands for the value in the help; empty when it takes none
  std::string_view meaning;  // what it does here
  std::string_view refusal;  // why it is refused; empty: it works
};

std::span<const Directive> directives();

// nullptr when there is none.
const Directive* find_directive(std::string_view name);
const Directive* find_directive(char letter);

}  // namespace tessera::slurm
