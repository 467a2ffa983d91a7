#include "cli/slurm/script.h"

#include <algorithm>

#include "base/text.h"
#include "cli/slurm/directives.h"

namespace tessera::slurm {

namespace {

constexpr std::string_view kMark = "#SBATCH";

Error at_line(int line, std::string message, std::string hint = {}) {
  return error(Code::kInvalid, std::move(message), cat("line ", line), std::move(hint));
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// The words of a directive: quotes and backslashes as the shell has them, '#' begins a comment.
Result<std::vector<std::string>> split_words(std::string_view text, int line) {
  std::vector<std::string> out;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes) {
      word += text[++i];
      in_word = true;
    } else if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (is_blank(c)) {
      if (in_word) out.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else if (c == '#' && !in_word) {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote) return at_line(line, cat("a quote ", quote, " is not closed"));
  if (in_word) out.push_back(std::move(word));
  return out;
}

// Reads the options of one line, as getopt_long does.
class OptionReader {
 public:
  OptionReader(std::vector<std::string> words, int line) : words_(std::move(words)), line_(line) {}

  Status read(std::vector<Option>& out) {
    if (words_.empty()) return at_line(line_, "has no option behind #SBATCH");
    while (at_ < words_.size()) {
      std::string word = words_[at_++];
      if (word.starts_with("--") && word.size() > 2) {
        TRY_STATUS(read_long(std::string_view(word).substr(2), out));
      } else if (word.starts_with('-') && word.size() > 1) {
        TRY_STATUS(read_letters(std::string_view(word).substr(1), out));
      } else {
        return at_line(line_, cat(quoted(word), " is not an option"),
                       "options begin with -, and a script's own arguments follow its name");
      }
    }
    return Ok;
  }

 private:
  Status read_long(std::string_view word, std::vector<Option>& out) {
    size_t equals = word.find('=');
    std::string_view name = word.substr(0, equals);
    const Directive* found = find_directive(name);
    if (!found) return unknown(name);
    Option option{std::string(found->name), {}, line_};
    if (equals != std::string_view::npos) {
      if (found->takes == Takes::kNone) return at_line(line_, cat("--", name, " takes no value"));
      option.value = word.substr(equals + 1);
    } else if (found->takes == Takes::kRequired) {
      TRY(option.value, next_word(*found));
    }
    out.push_back(std::move(option));
    return Ok;
  }

  Status read_letters(std::string_view letters, std::vector<Option>& out) {
    while (!letters.empty()) {
      const Directive* found = find_directive(letters[0]);
      if (!found) return at_line(line_, cat("sbatch has no option -", letters[0]));
      Option option{std::string(found->name), {}, line_};
      letters.remove_prefix(1);
      if (found->takes == Takes::kRequired && letters.empty()) {
        TRY(option.value, next_word(*found));
      } else if (found->takes != Takes::kNone) {
        option.value = letters;
        letters = {};
      }
      out.push_back(std::move(option));
    }
    return Ok;
  }

  Result<std::string> next_word(const Directive& directive) {
    if (at_ < words_.size()) return words_[at_++];
    return at_line(line_, cat("--", directive.name, " needs a value: ", directive.value));
  }

  Error unknown(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Directive& row : directives()) names.push_back(row.name);
    auto near = nearest(name, names);
    return at_line(line_, cat("sbatch has no option --", name),
                   near ? cat("did you mean --", *near, "?") : "");
  }

  std::vector<std::string> words_;
  size_t at_ = 0;
  int line_;
};

// Whether the line's command is srun, perhaps behind variables and exec.
bool calls_srun(std::string_view line) {
  while (true) {
    line = trim(line);
    std::string_view word = line.substr(0, line.find_first_of(" \t;|&"));
    bool assignment = word.find('=') != std::string_view::npos;
    if (!assignment && word != "exec" && word != "time") return word == "srun";
    line.remove_prefix(word.size());
  }
}

Result<std::vector<std::string>> parse_interpreter(std::string_view line) {
  if (!line.starts_with("#!"))
    return at_line(1, "this is no batch script: it does not begin with #!",
                   "begin it with #!/bin/bash");
  std::vector<std::string> out;
  for (const std::string& word : split(replace_all(line.substr(2), "\t", " "), ' '))
    if (!word.empty()) out.push_back(word);
  if (out.empty() || !out[0].starts_with('/'))
    return at_line(1, "names no interpreter behind #!", "begin the script with #!/bin/bash");
  return out;
}

Status check_text(std::string_view text) {
  if (text.size() > kScriptLimit)
    return error(Code::kInvalid,
                 cat("the script has ", text.size(), " bytes; at most ", kScriptLimit, " are sent"),
                 {}, "put what is long into the image or on a mount");
  if (text.find('\0') != std::string_view::npos)
    return error(Code::kInvalid, "the script holds a NUL byte: it is no text");
  if (size_t at = text.find("\r\n"); at != std::string_view::npos)
    return at_line(1 + static_cast<int>(std::ranges::count(text.substr(0, at), '\n')),
                   "ends as lines do on DOS", "convert the script with dos2unix");
  return Ok;
}

}  // namespace

std::string place_of(const Option& option) {
  return option.line > 0 ? cat("line ", option.line, ": --", option.name) : cat("--", option.name);
}

Result<Script> parse_script(std::string_view text) {
  TRY_STATUS(check_text(text));
  std::vector<std::string> lines = split(text, '\n');
  Script out;
  TRY(out.interpreter, parse_interpreter(lines[0]));
  bool in_head = true;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    int number = static_cast<int>(i) + 1;
    std::string_view rest = trim(line);
    if (in_head && line.starts_with(kMark) &&
        (line.size() == kMark.size() || is_blank(line[kMark.size()]))) {
      TRY(auto words, split_words(std::string_view(line).substr(kMark.size()), number));
      TRY_STATUS(OptionReader(std::move(words), number).read(out.options));
    } else if (!rest.empty() && rest[0] != '#') {
      in_head = false;
      if (calls_srun(rest)) out.srun_lines.push_back(number);
    }
  }
  return out;
}

}  // namespace tessera::slurm
