#include "cli/flags.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::cli {

class ArgsParser {
 public:
  ArgsParser(std::span<const Flag> flags, std::span<const std::string> words)
      : flags_(flags), words_(words) {}

  Result<Args> parse(Order order) {
    for (; at_ < words_.size(); ++at_) {
      std::string_view word = words_[at_];
      if (word == "--") {
        ++at_;
        break;
      }
      bool operand = word.size() < 2 || word[0] != '-';  // "-" alone is standard input
      if (operand && order == Order::kBeforeOperands) break;
      if (operand) {
        args_.operands.emplace_back(word);
      } else {
        bool spelled_out = word.starts_with("--");
        TRY_STATUS(spelled_out ? take_long(word.substr(2)) : take_letters(word.substr(1)));
      }
    }
    args_.operands.insert(args_.operands.end(), words_.begin() + static_cast<ptrdiff_t>(at_),
                          words_.end());
    return std::move(args_);
  }

 private:
  Status take_long(std::string_view word) {
    size_t equals = word.find('=');
    std::string_view name = word.substr(0, equals);
    const Flag* flag = find([&](const Flag& row) { return row.name == name; });
    if (!flag) return unknown(name);
    if (equals != std::string_view::npos) return keep(*flag, word.substr(equals + 1));
    if (flag->optional) return keep(*flag, "");
    return flag->value.empty() ? keep(*flag, "true") : keep_next(*flag);
  }

  // One or more letters; the first that takes a value ends the word.
  Status take_letters(std::string_view letters) {
    for (size_t i = 0; i < letters.size(); ++i) {
      const Flag* flag = find([&](const Flag& row) { return row.letter == letters[i]; });
      if (!flag) return error(Code::kInvalid, cat("unknown flag -", letters[i], " in -", letters));
      std::string_view rest = letters.substr(i + 1);
      if (rest.starts_with('=')) return keep(*flag, rest.substr(1));
      if (!flag->value.empty()) return rest.empty() ? keep_next(*flag) : keep(*flag, rest);
      TRY_STATUS(keep(*flag, "true"));
    }
    return Ok;
  }

  Status keep_next(const Flag& flag) {
    if (at_ + 1 >= words_.size())
      return error(Code::kInvalid, cat("needs a value: --", flag.name, " ", flag.value),
                   Args::label(flag.name));
    return keep(flag, words_[++at_]);
  }

  Status keep(const Flag& flag, std::string_view value) {
    if (flag.value.empty() && value != "true" && value != "false")
      return error(Code::kInvalid, cat("is a switch: true or false, not ", quoted(value)),
                   Args::label(flag.name));
    if (!flag.choices.empty() && std::ranges::find(flag.choices, value) == flag.choices.end())
      return error(Code::kInvalid, cat(quoted(value), " is not one of ", join(flag.choices, ", ")),
                   Args::label(flag.name));
    auto& kept = args_.values_[flag.name];
    if (!flag.many) kept.clear();
    kept.emplace_back(value);
    return Ok;
  }

  Status unknown(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Flag& flag : flags_)
      if (!flag.hidden) names.push_back(flag.name);
    auto near = nearest(name, names);
    return error(Code::kInvalid, cat("unknown flag --", name), {},
                 near ? cat("did you mean --", *near, "?") : "");
  }

  template <class Matches>
  const Flag* find(Matches matches) const {
    auto found = std::find_if(flags_.begin(), flags_.end(), matches);
    return found == flags_.end() ? nullptr : &*found;
  }

  std::span<const Flag> flags_;
  std::span<const std::string> words_;
  size_t at_ = 0;
  Args args_;
};

bool Args::has(std::string_view flag) const {
  auto found = values_.find(flag);
  return found != values_.end() && found->second.back() != "false";
}

std::string Args::text(std::string_view flag, std::string_view otherwise) const {
  auto found = values_.find(flag);
  return found == values_.end() ? std::string(otherwise) : found->second.back();
}

std::vector<std::string> Args::all(std::string_view flag) const {
  auto found = values_.find(flag);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::string Args::label(std::string_view flag) {
  return cat("--", flag);
}

Result<Args> parse_args(std::span<const Flag> flags, std::span<const std::string> words,
                        Order order) {
  return ArgsParser(flags, words).parse(order);
}

std::string flag_heading(const Flag& flag) {
  std::string out = flag.letter ? cat("-", flag.letter, ", ") : std::string("    ");
  out += cat("--", flag.name);
  if (!flag.choices.empty())
    out += cat(" ", join(flag.choices, "|"));
  else if (!flag.value.empty())
    out += cat(" ", flag.value);
  return out;
}

}  // namespace tessera::cli
