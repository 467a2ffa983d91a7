#include "api/envelope.h"

#include "api/codec_impl.h"
#include "base/text.h"

TESSERA_CODEC(tessera::api::WatchEvent)

namespace tessera::api {

namespace {

constexpr std::string_view kListSuffix = "List";

Value with_header(std::string_view kind, Value object) {
  Value::Map members;
  members.emplace_back("apiVersion", kApiVersion);
  members.emplace_back("kind", kind);
  Value out(std::move(members));
  out.line = object.line;
  if (Value::Map* rest = object.map())
    for (auto& member : *rest) out.map()->push_back(std::move(member));
  return out;
}

std::string at_line(const Value& value) {
  return value.line > 0 ? cat(" (line ", value.line, ")") : std::string();
}

Result<std::string> header_text(const Value& document, std::string_view name,
                                std::string_view example) {
  const Value* value = document.find(name);
  if (!value)
    return error(Code::kInvalid, cat("is required", at_line(document)), std::string(name),
                 cat("for example ", name, ": ", example));
  if (!value->string())
    return error(Code::kInvalid, cat("must be a string, not ", value->kind(), at_line(*value)),
                 std::string(name));
  return *value->string();
}

Status check_version(const Value& document) {
  TRY(std::string version, header_text(document, "apiVersion", kApiVersion));
  if (version == kApiVersion) return Ok;
  return error(Code::kInvalid,
               cat(quoted(version), " is not known", at_line(*document.find("apiVersion"))),
               "apiVersion", cat("write ", kApiVersion));
}

Status check_kind(const Value& document, std::string_view expected) {
  TRY(std::string kind, header_text(document, "kind", expected));
  if (kind == expected) return Ok;
  return error(
      Code::kInvalid,
      cat("must be ", expected, " here, not ", quoted(kind), at_line(*document.find("kind"))),
      "kind");
}

void strip_header(Value& document) {
  if (Value::Map* members = document.map())
    std::erase_if(*members, [](const auto& member) {
      return member.first == "apiVersion" || member.first == "kind";
    });
}

// A header may be missing, but what there is must agree.
Status take_header(Value& document, std::string_view kind) {
  if (document.find("apiVersion")) TRY_STATUS(check_version(document));
  if (document.find("kind")) TRY_STATUS(check_kind(document, kind));
  strip_header(document);
  return Ok;
}

Value::List* items_of(Value& list) {
  if (Value::Map* members = list.map())
    for (auto& [name, value] : *members)
      if (name == "items") return std::get_if<Value::List>(&value.data);
  return nullptr;
}

bool is_list(const schema::Type& type) {
  return type.name.ends_with(kListSuffix);
}

}  // namespace

const KindInfo* kind_of(const schema::Type& type) {
  if (type.kind != schema::Type::Kind::kStruct) return nullptr;
  std::string_view name = type.name;
  if (is_list(type)) name.remove_suffix(kListSuffix.size());
  for (const KindInfo& row : kKinds)
    if (row.kind == name) return &row;
  return nullptr;
}

Value wrap(const KindInfo& kind, Value object) {
  return with_header(kind.kind, std::move(object));
}

Result<std::pair<const KindInfo*, Value>> unwrap(Value document) {
  if (!document.map())
    return error(Code::kInvalid,
                 cat("an object must be a map, not ", document.kind(), at_line(document)));
  TRY(std::string kind, header_text(document, "kind", "Job"));
  TRY_STATUS(check_version(document));
  std::vector<std::string_view> names;
  for (const KindInfo& row : kKinds) {
    names.push_back(row.kind);
    if (row.kind != kind) continue;
    strip_header(document);
    return std::pair(&row, std::move(document));
  }
  auto near = nearest(kind, names);
  std::vector<std::string> known(names.begin(), names.end());
  return error(Code::kInvalid, cat(quoted(kind), " is not a kind", at_line(*document.find("kind"))),
               "kind",
               near ? cat("did you mean ", *near, "?") : cat("there are ", join(known, ", ")));
}

Value to_wire(const schema::Type& type, Value value) {
  const KindInfo* kind = kind_of(type);
  if (!kind) return value;
  if (!is_list(type)) return wrap(*kind, std::move(value));
  if (Value::List* items = items_of(value))
    for (Value& item : *items) item = wrap(*kind, std::move(item));
  return with_header(cat(kind->kind, kListSuffix), std::move(value));
}

Result<Value> from_wire(const schema::Type& type, Value value) {
  const KindInfo* kind = kind_of(type);
  if (!kind) return value;
  TRY_STATUS(take_header(value, type.name));
  if (is_list(type))
    if (Value::List* items = items_of(value))
      for (Value& item : *items) TRY_STATUS(take_header(item, kind->kind));
  return value;
}

ErrorBody to_body(const Error& failure) {
  return {.code = std::string(info(failure.code).name),
          .message = failure.message,
          .field = failure.field,
          .hint = failure.hint};
}

Error from_body(const ErrorBody& body) {
  Code code = Code::kInternal;
  for (const CodeInfo& row : kCodes)
    if (row.name == body.code) code = row.code;
  return error(code, body.message, body.field, body.hint);
}

}  // namespace tessera::api
