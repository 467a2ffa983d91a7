#include "engine/local/images/dockerfile.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"

namespace tessera::local {

namespace {

using Values = std::map<std::string, std::string>;

// Instructions, each on one line, without comments.
std::vector<std::string> instructions(std::string_view dockerfile) {
  std::vector<std::string> out;
  std::string line;
  for (const std::string& piece : split(dockerfile, '\n')) {
    std::string_view text = trim(piece);
    if (text.starts_with('#') || (text.empty() && line.empty())) continue;
    bool goes_on = text.ends_with('\\');
    if (goes_on) text.remove_suffix(1);
    line += cat(text, " ");
    if (goes_on) continue;
    out.push_back(std::move(line));
    line.clear();
  }
  if (!line.empty()) out.push_back(std::move(line));
  return out;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  for (std::string& word : split(line, ' '))
    for (std::string& part : split(word, '\t'))
      if (!part.empty()) out.push_back(std::move(part));
  return out;
}

std::string unquoted(std::string_view text) {
  bool quotes = text.size() >= 2 && text.front() == text.back() &&
                (text.front() == '"' || text.front() == '\'');
  return std::string(quotes ? text.substr(1, text.size() - 2) : text);
}

// What stands between the braces of ${…}: a name, perhaps with ":-" or ":+" and a text.
std::string braced(std::string_view inside, const Values& values) {
  size_t colon = inside.find(':');
  auto found = values.find(std::string(inside.substr(0, colon)));
  std::string value = found == values.end() ? std::string() : found->second;
  if (colon == std::string_view::npos || colon + 1 >= inside.size()) return value;
  std::string otherwise(inside.substr(colon + 2));
  if (inside[colon + 1] == '+') return value.empty() ? value : otherwise;
  return value.empty() ? otherwise : value;
}

std::string filled_in(std::string_view text, const Values& values) {
  std::string out;
  while (!text.empty()) {
    size_t dollar = text.find('$');
    out += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    size_t close = text.starts_with('{') ? text.find('}') : std::string_view::npos;
    if (close != std::string_view::npos) {
      out += braced(text.substr(1, close - 1), values);
      text.remove_prefix(close + 1);
      continue;
    }
    size_t end = 0;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    out += braced(text.substr(0, end), values);
    text.remove_prefix(end);
  }
  return out;
}

// "from=X" of COPY's --from=X and of RUN's --mount=type=bind,from=X.
std::string source_of(std::string_view flag) {
  for (std::string_view start : {"--from=", "--mount="}) {
    if (!flag.starts_with(start)) continue;
    if (start == "--from=") return std::string(flag.substr(start.size()));
    for (const std::string& part : split(flag.substr(start.size()), ','))
      if (part.starts_with("from=")) return part.substr(5);
  }
  return {};
}

class Reader {
 public:
  explicit Reader(const Values& args) : args_(args) {}

  void read(const std::vector<std::string>& words) {
    std::string what = lower(words[0]);
    if (what == "arg" && stages_ == 0) take_defaults(words);
    if (what == "from") take_stage(words);
    if (what == "copy" || what == "add" || what == "run")
      for (size_t i = 1; i < words.size() && words[i].starts_with("--"); ++i)
        take_image(source_of(words[i]));
  }
  std::vector<std::string> images;

 private:
  // What the build's arguments do not say: they count for FROM.
  void take_defaults(const std::vector<std::string>& words) {
    for (size_t i = 1; i < words.size(); ++i) {
      size_t equals = words[i].find('=');
      std::string name = words[i].substr(0, equals);
      if (auto given = args_.find(name); given != args_.end())
        values_[name] = given->second;
      else if (equals != std::string::npos)
        values_[name] = filled_in(unquoted(words[i].substr(equals + 1)), values_);
    }
  }

  void take_stage(const std::vector<std::string>& words) {
    size_t at = 1;
    while (at < words.size() && words[at].starts_with("--")) ++at;
    if (at < words.size()) take_image(words[at]);
    names_.insert(cat(stages_++));
    if (at + 2 < words.size() && lower(words[at + 1]) == "as") names_.insert(lower(words[at + 2]));
  }

  void take_image(const std::string& word) {
    std::string image = filled_in(unquoted(word), values_);
    bool known = image.empty() || image == "scratch" || names_.contains(lower(image)) ||
                 std::find(images.begin(), images.end(), image) != images.end();
    if (!known) images.push_back(std::move(image));
  }

  const Values& args_;
  Values values_;
  std::set<std::string> names_;  // of the stages so far, and their numbers
  int stages_ = 0;
};

}  // namespace

std::vector<std::string> base_images(std::string_view dockerfile, const Values& args) {
  Reader reader(args);
  for (const std::string& line : instructions(dockerfile))
    if (auto words = words_of(line); !words.empty()) reader.read(words);
  return std::move(reader.images);
}

}  // namespace tessera::local
