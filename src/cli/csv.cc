#include "cli/csv.h"

#include "base/text.h"

namespace tessera::cli {

namespace {

// The field that begins at `at`, which is moved behind it: to a comma or the end.
Result<std::string> take_quoted(std::string_view text, size_t& at) {
  std::string field;
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') {
      field += text[at];
    } else if (text.substr(at).starts_with("\"\"")) {
      field += '"';
      ++at;
    } else {
      ++at;
      if (at < text.size() && text[at] != ',')
        return error(Code::kInvalid, cat("a quote ends in the middle of a value in ", text));
      return field;
    }
  }
  return error(Code::kInvalid, cat("a quote is not closed in ", text));
}

Result<std::string> take_plain(std::string_view text, size_t& at) {
  size_t comma = std::min(text.find(',', at), text.size());
  std::string field(text.substr(at, comma - at));
  at = comma;
  if (field.find('"') != std::string::npos)
    return error(Code::kInvalid, cat("a quote stands in the middle of a value in ", text));
  return field;
}

}  // namespace

Result<std::vector<std::string>> parse_csv_record(std::string_view text) {
  if (text.empty()) return error(Code::kInvalid, "the value is empty");
  if (text.find_first_of("\r\n") != std::string_view::npos)
    return error(Code::kInvalid, "the value has a line break");
  std::vector<std::string> fields;
  for (size_t at = 0;; ++at) {
    bool is_quoted = at < text.size() && text[at] == '"';
    TRY(std::string field, is_quoted ? take_quoted(text, at) : take_plain(text, at));
    fields.push_back(std::move(field));
    if (at >= text.size()) return fields;
  }
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) out += ",";
    bool plain = field.find_first_of(",\"\r\n") == std::string::npos;
    out += plain ? field : cat("\"", replace_all(field, "\"", "\"\""), "\"");
  }
  return out + "\n";
}

}  // namespace tessera::cli
