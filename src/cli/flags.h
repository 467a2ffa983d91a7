#pragma once
// Flags as a table: parsing, help, completion and the reference all come from the same rows.
//
// The syntax is that of docker and kubectl (the Go package pflag), exactly, since command lines are
// carried over: --name value, --name=value, -n value, -nvalue, letters together (-it), --rm=false,
// "--" ends the flags, and a value may begin with '-' or '['.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::cli {

struct Flag {
  std::string name;  // without the dashes
  char letter = 0;
  std::string value;  // stands for the value in the help ("GIB"); empty: a switch
  std::string doc;
  std::vector<std::string> choices;  // the only values, when there are any
  bool many = false;                 // may be given several times; else the last one counts
  bool hidden = false;               // known, but not in the help
  bool optional = false;             // the value may be left out: --nice, --nice=5
};

// Where flags may stand.
enum class Order {
  kAnywhere,       // kubectl: get jobs -o json
  kBeforeOperands  // docker run, exec: what follows the first operand belongs to the program
};

class Args {
 public:
  // A switch that is on, or a flag that has a value.
  bool has(std::string_view flag) const;
  // The last value; `otherwise` when the flag was not given.
  std::string text(std::string_view flag, std::string_view otherwise = {}) const;
  std::vector<std::string> all(std::string_view flag) const;
  // A value in an error's words: "--gpus: …".
  static std::string label(std::string_view flag);

  std::vector<std::string> operands;

 private:
  friend class ArgsParser;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

// kInvalid on an unknown flag (with the nearest known one), a missing value or one that is not
// among the choices.
Result<Args> parse_args(std::span<const Flag> flags, std::span<const std::string> words,
                        Order order);

// "-m, --memory SIZE" for the help.
std::string flag_heading(const Flag& flag);

}  // namespace tessera::cli
