#pragma once
// A batch script as text: its interpreter and the options of its #SBATCH lines.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::slurm {

// An option as it was given, by its long name.
struct Option {
  std::string name;
  std::string value;  // empty when it takes none
  int line = 0;       // of the script; 0: on the command line

  bool operator==(const Option&) const = default;
};

// "line 3: --time" or "--time": where an error happened.
std::string place_of(const Option& option);

struct Script {
  std::vector<std::string> interpreter;  // program and arguments of the first line
  std::vector<Option> options;           // in their order
  std::vector<int> srun_lines;           // lines that call srun, which is not in a container
};

// kInvalid names the line. Directives after the first command are not read, as sbatch has it.
Result<Script> parse_script(std::string_view text);

// Linux's limit for one argument: the script travels as one.
inline constexpr size_t kScriptLimit = 131'071;

}  // namespace tessera::slurm
