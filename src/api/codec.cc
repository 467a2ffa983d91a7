#include "api/codec.h"

#include <cctype>

#include "api/codec_impl.h"

namespace tessera::schema {

std::string Path::text() const {
  if (!parent) return {};
  std::string above = parent->text();
  if (index >= 0) return cat(above, "[", index, "]");
  // What a document calls its fields is whatever somebody wrote.
  std::string own = without_controls(name);
  return above.empty() ? own : cat(above, ".", own);
}

Error fault(const Path& path, const Value& at, std::string message, std::string hint) {
  std::string where = path.text();
  if (at.line > 0) message = cat(message, " (line ", at.line, ")");
  return error(Code::kInvalid, std::move(message), std::move(where), std::move(hint));
}

Status check_number(const Path& path, const Value& at, int64_t number, const Rules& rules,
                    Unit unit) {
  auto shown = [&](int64_t amount) {
    if (unit == Unit::kMilli) return format_milli(amount);
    if (unit == Unit::kMiB) return format_memory(MiB{amount});
    if (unit == Unit::kMillis) return format_duration(Millis{amount});
    return cat(amount);
  };
  if (rules.minimum && number < *rules.minimum)
    return fault(path, at,
                 cat("must be at least ", shown(*rules.minimum), ", not ", shown(number)));
  if (rules.maximum && number > *rules.maximum)
    return fault(path, at, cat("must be at most ", shown(*rules.maximum), ", not ", shown(number)));
  return Ok;
}

Status check_count(const Path& path, const Value& at, size_t count, const Rules& rules) {
  // A list without a limit of its own still has one: bodies are bounded, and so is patience.
  int64_t most = rules.maximum.value_or(1024);
  if (static_cast<int64_t>(count) > most)
    return fault(path, at, cat("has ", count, " entries; at most ", most, " are allowed"));
  if (rules.minimum && static_cast<int64_t>(count) < *rules.minimum)
    return fault(
        path, at,
        cat("needs at least ", *rules.minimum, *rules.minimum == 1 ? " entry" : " entries"));
  return Ok;
}

namespace {

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  for (char c : text)
    if (!(std::islower(static_cast<unsigned char>(c)) ||
          std::isdigit(static_cast<unsigned char>(c)) || c == '-'))
      return false;
  return true;
}

bool is_env_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (char c : text)
    if (c == '=' || c == '\0' || std::isspace(static_cast<unsigned char>(c))) return false;
  return true;
}

bool is_absolute_path(std::string_view text) {
  if (!text.starts_with('/') || text.find('\0') != std::string_view::npos) return false;
  for (const std::string& part : split(text, '/'))
    if (part == "..") return false;
  return true;
}

bool is_label_key(std::string_view text) {
  size_t slash = text.find('/');
  std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  if (name.empty() || name.size() > 63 || text.size() > 317) return false;
  for (char c : text)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
          c == '/'))
      return false;
  return name.find('/') == std::string_view::npos;
}

}  // namespace

Status check_format(const Path& path, const Value& at, std::string_view text, Format format) {
  switch (format) {
    case Format::kNone:
      return Ok;
    case Format::kName:
      if (is_name(text)) return Ok;
      return fault(path, at, cat(quoted(text), " is not a valid name"),
                   "use at most 63 of a-z, 0-9 and '-', not '-' at the ends");
    case Format::kEnvName:
      if (is_env_name(text)) return Ok;
      return fault(path, at, cat(quoted(text), " is not a name of an environment variable"));
    case Format::kAbsolutePath:
      if (is_absolute_path(text)) return Ok;
      return fault(path, at, cat(quoted(text), " must be an absolute path without '..'"));
    case Format::kLabelKey:
      if (is_label_key(text)) return Ok;
      return fault(path, at, cat(quoted(text), " is not a valid label key"),
                   "use letters, digits, '-', '_' and '.', with an optional prefix/");
  }
  return Ok;
}

Status check_string(const Path& path, const Value& at, std::string_view text, const Rules& rules) {
  // Most strings are names and paths; what may be longer says so in its own rules.
  int64_t most = rules.maximum.value_or(4096);
  if (static_cast<int64_t>(text.size()) > most)
    return fault(path, at, cat("is ", text.size(), " bytes long; at most ", most, " are allowed"));
  if (rules.required && text.empty()) return fault(path, at, "must not be empty");
  if (text.empty()) return Ok;
  return check_format(path, at, text, rules.format);
}

Error unknown_field(const Path& path, const Value& at, std::string_view name, const Type& known) {
  constexpr size_t kMostNames = 16;  // more than that nobody reads
  std::vector<std::string> names;
  for (const FieldType& field : known.fields) {
    names.emplace_back(field.name);
    // One level too high is the commonest slip: spec.gpus in place of spec.resources.gpus.
    for (const FieldType& inner : field.type->fields)
      if (inner.name == name)
        return fault(path, at, "unknown field", cat("did you mean ", field.name, ".", name, "?"));
  }
  auto near = nearest(name, std::vector<std::string_view>(names.begin(), names.end()));
  if (near) return fault(path, at, "unknown field", cat("did you mean ", *near, "?"));
  if (names.size() > kMostNames)
    return fault(
        path, at, "unknown field",
        cat("'tessera reference api' lists the ", names.size(), " fields of ", known.name));
  return fault(path, at, "unknown field", cat("known here: ", join(names, ", ")));
}

Result<int64_t> read_int(const Path& path, const Value& at) {
  if (at.integer()) return *at.integer();
  if (const double* number = std::get_if<double>(&at.data);
      number && std::floor(*number) == *number && std::abs(*number) < 9e15)
    return static_cast<int64_t>(*number);
  return fault(path, at, cat("must be a whole number, not ", at.kind()));
}

Result<int64_t> read_milli(const Path& path, const Value& at) {
  if (at.integer() && std::abs(*at.integer()) < int64_t{1} << 40) return *at.integer() * 1000;
  if (const double* number = std::get_if<double>(&at.data); number && std::abs(*number) < 1e12) {
    double milli = std::round(*number * 1000);
    if (std::abs(milli - *number * 1000) < 1e-6) return static_cast<int64_t>(milli);
    return fault(path, at, "has more than three decimals");
  }
  if (at.string()) {
    auto parsed = parse_milli(*at.string());
    if (parsed.ok()) return *parsed;
    return fault(path, at, parsed.error().message, parsed.error().hint);
  }
  return fault(path, at, cat("must be a number, not ", at.kind()), "write it like 2 or 0.25");
}

Result<MiB> read_memory(const Path& path, const Value& at) {
  std::string text = at.integer()  ? cat(*at.integer())
                     : at.string() ? *at.string()
                                   : std::string(at.kind());
  auto parsed = parse_memory(text);
  if (parsed.ok()) return parsed;
  return fault(path, at, parsed.error().message, parsed.error().hint);
}

Result<Millis> read_duration(const Path& path, const Value& at) {
  std::string text = at.integer()  ? cat(*at.integer())
                     : at.string() ? *at.string()
                                   : std::string(at.kind());
  auto parsed = parse_duration(text);
  if (parsed.ok()) return parsed;
  return fault(path, at, parsed.error().message, parsed.error().hint);
}

}  // namespace tessera::schema
