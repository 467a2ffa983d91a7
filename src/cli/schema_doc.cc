#include "cli/schema_doc.h"

#include "base/check.h"
#include "base/text.h"

namespace tessera::cli {

std::string schema_doc(const schema::Type& type, std::string_view path) {
  const schema::Type* at = &type;
  const schema::FieldType* found = nullptr;
  for (const std::string& part : split(path, '.')) {
    found = nullptr;
    for (const schema::FieldType& field : at->fields)
      if (field.name == part) found = &field;
    CHECK(found);
    at = found->type;
  }
  return std::string(found->doc);
}

std::string type_name(const schema::Type& type) {
  using Kind = schema::Type::Kind;
  switch (type.kind) {
    case Kind::kBool:
      return "boolean";
    case Kind::kInt:
      return "integer";
    case Kind::kString:
      return "string";
    case Kind::kMemory:
      return "size (10Gi)";
    case Kind::kMilli:
      return "number (0.25)";
    case Kind::kPercent:
      return "percent";
    case Kind::kDuration:
      return "duration (1h30m)";
    case Kind::kTime:
      return "time (RFC 3339)";
    case Kind::kEnum: {
      std::vector<std::string> names;
      for (std::string_view name : type.names)
        if (!name.empty()) names.emplace_back(name);
      return cat("one of ", join(names, ", "));
    }
    case Kind::kList:
      return cat("list of ", type_name(*type.element));
    case Kind::kMap:
      return cat("map of ", type_name(*type.element));
    case Kind::kStruct:
      return std::string(type.name);
    case Kind::kAny:
      return "any JSON";
  }
  return {};
}

}  // namespace tessera::cli
