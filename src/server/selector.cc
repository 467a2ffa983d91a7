#include "server/selector.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace tessera::server {

Result<Selector> Selector::parse(std::string_view text, std::string_view field) {
  Selector out;
  if (trim(text).empty()) return out;
  for (const std::string& part : split(text, ',')) {
    std::string_view word = trim(part);
    Term term;
    if (size_t at = word.find("!="); at != std::string_view::npos) {
      term = {std::string(trim(word.substr(0, at))), Test::kDiffers,
              std::string(trim(word.substr(at + 2)))};
    } else if (at = word.find('='); at != std::string_view::npos) {
      size_t length = word.substr(at).starts_with("==") ? 2 : 1;
      term = {std::string(trim(word.substr(0, at))), Test::kEquals,
              std::string(trim(word.substr(at + length)))};
    } else if (word.starts_with('!')) {
      term = {std::string(trim(word.substr(1))), Test::kAbsent, {}};
    } else {
      term = {std::string(word), Test::kPresent, {}};
    }
    if (term.key.empty())
      return error(Code::kInvalid, cat(quoted(word), " is not a selector"), std::string(field),
                   "write key=value, key!=value, key or !key, separated by commas");
    out.terms_.push_back(std::move(term));
  }
  return out;
}

bool Selector::holds(const Term& term, const Value* found) {
  std::string text;
  if (found && found->string())
    text = *found->string();
  else if (found && found->integer())
    text = cat(*found->integer());
  else if (found && found->boolean())
    text = *found->boolean() ? "true" : "false";
  switch (term.test) {
    case Test::kEquals:
      return text == term.value && (found || term.value.empty());
    case Test::kDiffers:
      return text != term.value;
    case Test::kPresent:
      return found != nullptr;
    case Test::kAbsent:
      return found == nullptr;
  }
  return false;
}

bool Selector::may_match(std::string_view json) const {
  // What JSON may write in several ways is not looked for.
  auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  };
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    bool certain =
        term.test == Test::kEquals && std::all_of(term.value.begin(), term.value.end(), plain);
    return !certain || json.find(term.value) != std::string_view::npos;
  });
}

bool Selector::matches_labels(const Value& object) const {
  const Value* metadata = object.find("metadata");
  const Value* labels = metadata ? metadata->find("labels") : nullptr;
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return holds(term, labels ? labels->find(term.key) : nullptr);
  });
}

bool Selector::matches_fields(const Value& object) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    const Value* at = &object;
    for (const std::string& name : split(term.key, '.')) at = at ? at->find(name) : nullptr;
    return holds(term, at);
  });
}

}  // namespace tessera::server
