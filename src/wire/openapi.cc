#include "wire/openapi.h"

#include <functional>
#include <map>
#include <set>

#include "api/envelope.h"
#include "api/log_frame.h"
#include "api/routes.h"
#include "base/text.h"

namespace tessera::wire {

namespace {

using schema::FieldType, schema::Rules, schema::Type;
using Kind = schema::Type::Kind;

// Limits that decoding keeps where a field names none (api/codec.cc).
constexpr int64_t kDefaultStringLimit = 4096;
constexpr int64_t kDefaultCountLimit = 1024;

// {"a": 1, …} in one expression.
Value object(Value::Map members) {
  return Value(std::move(members));
}
Value texts(std::initializer_list<std::string_view> items) {
  Value::List list;
  for (std::string_view item : items) list.emplace_back(item);
  return Value(std::move(list));
}

std::string_view pattern_of(schema::Format format) {
  switch (format) {
    case schema::Format::kName:
      return "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
    case schema::Format::kEnvName:
      return "^[^0-9=\\s][^=\\s]*$";
    case schema::Format::kAbsolutePath:
      return "^/";
    case schema::Format::kLabelKey:
      return "^([-A-Za-z0-9_.]+/)?[-A-Za-z0-9_.]{1,63}$";
    case schema::Format::kNone:
      break;
  }
  return {};
}

Value reference(std::string_view name) {
  return object({{"$ref", cat("#/components/schemas/", name)}});
}

Value schema_of(const Type& type, const Rules& rules);

Value string_schema(const Rules& rules) {
  Value out = object({{"type", "string"}});
  out.set("maxLength", rules.maximum.value_or(kDefaultStringLimit));
  if (std::string_view pattern = pattern_of(rules.format); !pattern.empty())
    out.set("pattern", pattern);
  return out;
}

Value integer_schema(const Rules& rules) {
  Value out = object({{"type", "integer"}, {"format", "int64"}});
  if (rules.minimum) out.set("minimum", *rules.minimum);
  if (rules.maximum) out.set("maximum", *rules.maximum);
  return out;
}

// Amounts are written as text with a unit, and read as a plain number too.
Value amount_schema(std::string_view pattern, std::string_view number_means) {
  return object({{"oneOf", Value::List{object({{"type", "string"}, {"pattern", pattern}}),
                                       object({{"type", "integer"},
                                               {"minimum", int64_t{0}},
                                               {"description", number_means}})}}});
}

Value milli_schema(const Rules& rules) {
  Value number = object({{"type", "number"}, {"multipleOf", 0.001}});
  if (rules.minimum) number.set("minimum", static_cast<double>(*rules.minimum) / 1000);
  if (rules.maximum) number.set("maximum", static_cast<double>(*rules.maximum) / 1000);
  Value text = object({{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]{1,3})?$|^[0-9]+m$"}});
  return object({{"oneOf", Value::List{std::move(number), std::move(text)}}});
}

Value enum_schema(const Type& type) {
  Value::List names;
  for (std::string_view name : type.names) names.emplace_back(name);
  return object({{"type", "string"}, {"enum", Value(std::move(names))}});
}

Value list_schema(const Type& type, const Rules& rules) {
  Rules element{.maximum = rules.value_maximum, .format = rules.format};
  Value out = object({{"type", "array"}, {"items", schema_of(*type.element, element)}});
  if (rules.minimum) out.set("minItems", *rules.minimum);
  out.set("maxItems", rules.maximum.value_or(kDefaultCountLimit));
  return out;
}

Value map_schema(const Type& type, const Rules& rules) {
  Value out = object(
      {{"type", "object"},
       {"additionalProperties", schema_of(*type.element, {.maximum = rules.value_maximum})}});
  if (std::string_view pattern = pattern_of(rules.key_format); !pattern.empty())
    out.set("propertyNames", object({{"pattern", pattern}}));
  out.set("maxProperties", rules.maximum.value_or(kDefaultCountLimit));
  return out;
}

Value schema_of(const Type& type, const Rules& rules) {
  switch (type.kind) {
    case Kind::kBool:
      return object({{"type", "boolean"}});
    case Kind::kInt:
    case Kind::kPercent:
      return integer_schema(rules);
    case Kind::kString:
      return string_schema(rules);
    case Kind::kMemory:
      return amount_schema("^[0-9]+(\\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$", "Bytes.");
    case Kind::kDuration:
      return amount_schema("^([0-9]+(\\.[0-9]+)?(ms|s|m|h|d)?)+$", "Seconds.");
    case Kind::kMilli:
      return milli_schema(rules);
    case Kind::kTime:
      return object({{"type", "string"}, {"format", "date-time"}});
    case Kind::kEnum:
      return enum_schema(type);
    case Kind::kList:
      return list_schema(type, rules);
    case Kind::kMap:
      return map_schema(type, rules);
    case Kind::kStruct:
      return reference(type.name);
    case Kind::kAny:
      break;
  }
  return object({});
}

Value property(const FieldType& field) {
  Value out = schema_of(*field.type, field.rules);
  out.set("description", field.doc);
  if (field.rules.read_only) out.set("readOnly", true);
  if (field.rules.secret) out.set("writeOnly", true);
  return out;
}

// A struct; a kind or a list of one also has its envelope.
Value struct_schema(const Type& type) {
  Value::Map properties;
  Value::List required;
  if (api::kind_of(type)) {
    properties.emplace_back("apiVersion",
                            object({{"type", "string"}, {"const", api::kApiVersion}}));
    properties.emplace_back("kind", object({{"type", "string"}, {"const", type.name}}));
  }
  for (const FieldType& field : type.fields) {
    properties.emplace_back(field.name, property(field));
    if (field.rules.required) required.emplace_back(field.name);
  }
  Value out = object({{"type", "object"}});
  const api::KindInfo* kind = api::kind_of(type);
  if (kind && kind->kind == type.name) out.set("description", kind->doc);
  out.set("properties", Value(std::move(properties)));
  if (!required.empty()) out.set("required", Value(std::move(required)));
  out.set("additionalProperties", false);
  return out;
}

// All structs that can be reached from a type, by name.
void collect(const Type& type, std::map<std::string_view, const Type*>& found) {
  if (type.element) collect(*type.element, found);
  if (type.kind != Kind::kStruct || !found.emplace(type.name, &type).second) return;
  for (const FieldType& field : type.fields) collect(*field.type, found);
}

bool is_nothing(const Type& type) {
  return type.kind == Kind::kStruct && type.fields.empty();
}

Value parameter(std::string_view name, std::string_view in, bool required, Value schema,
                std::string_view doc) {
  return object({{"name", name},
                 {"in", in},
                 {"required", required},
                 {"description", doc},
                 {"schema", std::move(schema)}});
}

Value::List parameters(const api::RouteInfo& route) {
  Value::List out;
  for (const std::string& part : split(route.path, '/')) {
    if (!part.starts_with('{')) continue;
    std::string name = part.substr(1, part.size() - 2);
    out.push_back(parameter(name, "path", true, object({{"type", "string"}}),
                            name == "project" ? "Name of the project." : "Name of the object."));
  }
  // A list is a parameter that is given once for each entry: OpenAPI's default for queries.
  for (const FieldType& field : route.query().fields)
    out.push_back(parameter(field.name, "query", field.rules.required,
                            schema_of(*field.type, field.rules), field.doc));
  if (route.id == api::routes::kCreateJob.id)
    out.push_back(parameter("Idempotency-Key", "header", false,
                            object({{"type", "string"}, {"maxLength", int64_t{256}}}),
                            "Repeating the call with the same key gives the first one's answer."));
  return out;
}

Value content(std::string_view media_type, Value schema) {
  return object({{std::string(media_type), object({{"schema", std::move(schema)}})}});
}

Value websocket_response() {
  return object(
      {{"description",
        "The connection becomes a WebSocket. The first byte of each binary message is its "
        "channel."}});
}

Value text_response(const api::RouteInfo& route) {
  Value bodies = content("text/plain", object({{"type", "string"}}));
  if (route.query().name == api::LogQuery::kTypeName)
    bodies.set(std::string(api::kFramedLogType),
               object({{"schema", object({{"type", "string"}, {"format", "binary"}})}}));
  return object({{"description", "Text as it comes."}, {"content", std::move(bodies)}});
}

Value success(const api::RouteInfo& route) {
  switch (route.shape) {
    case api::Shape::kText:
      return text_response(route);
    case api::Shape::kStream:
      return object(
          {{"description",
            "One JSON document a line, as it goes on; the schema is that "
            "of each line."},
           {"content", content("application/x-ndjson", schema_of(route.response(), {}))}});
    case api::Shape::kWebSocket:
      return websocket_response();
    case api::Shape::kJson:
      break;
  }
  Value bodies =
      content("application/json", is_nothing(route.response()) ? object({{"type", "object"}})
                                                               : schema_of(route.response(), {}));
  bool watchable = route.query().name == api::ListQuery::kTypeName;
  if (watchable) {
    Value line = object({{"schema", reference(api::WatchEvent::kTypeName)}});
    bodies.set("application/x-ndjson", line);
    bodies.set("text/event-stream", line);
  }
  return object({{"description", watchable ? "The list; with watch=true a stream of changes, one a "
                                             "line or an event."
                                           : "Done."},
                 {"content", std::move(bodies)}});
}

std::string_view success_code(const api::RouteInfo& route) {
  if (route.shape == api::Shape::kWebSocket) return "101";
  return route.id.starts_with("create") ? "201" : "200";
}

// "jobs" for /api/v1/projects/{project}/jobs/{name}/logs: the last plain part that names a kind.
std::string tag_of(const api::RouteInfo& route) {
  std::string tag = "server";
  for (const std::string& part : split(route.path, '/'))
    if (api::find_kind(part) || part == "images") tag = part;
  return tag;
}

Value operation(const api::RouteInfo& route) {
  Value out =
      object({{"operationId", route.id}, {"summary", route.doc}, {"tags", texts({tag_of(route)})}});
  if (Value::List list = parameters(route); !list.empty()) out.set("parameters", Value(list));
  if (!is_nothing(route.request())) {
    bool patch = route.method == api::Method::kPatch;
    out.set("requestBody",
            object({{"required", true},
                    {"content", content(patch ? "application/merge-patch+json" : "application/json",
                                        schema_of(route.request(), {}))}}));
  }
  out.set("responses", object({{std::string(success_code(route)), success(route)},
                               {"default", object({{"$ref", "#/components/responses/Error"}})}}));
  if (route.permission == api::Permission::kPublic) out.set("security", Value::List{});
  out.set("x-tessera-permission",
          enum_names(route.permission)[static_cast<size_t>(route.permission)]);
  if (route.shape == api::Shape::kWebSocket)
    out.set("x-tessera-websocket",
            object({{"subprotocol", "v5.channel.k8s.io"},
                    {"channels", object({{"0", "stdin"},
                                         {"1", "stdout"},
                                         {"2", "stderr"},
                                         {"3", reference(api::ExitStatus::kTypeName)},
                                         {"4", reference(api::TerminalSize::kTypeName)},
                                         {"255", "closes the channel named by the next byte"}})}}));
  return out;
}

Value paths() {
  Value out = object({});
  for (const api::RouteInfo* route : api::routes::kAll) {
    Value item = out.find(route->path) ? *out.find(route->path) : object({});
    item.set(lower(enum_names(route->method)[static_cast<size_t>(route->method)]),
             operation(*route));
    out.set(route->path, std::move(item));
  }
  return out;
}

Value components() {
  std::map<std::string_view, const Type*> found;
  for (const Type* type :
       {&schema::describe<api::ErrorBody>(), &schema::describe<api::WatchEvent>(),
        &schema::describe<api::ExitStatus>(), &schema::describe<api::TerminalSize>()})
    collect(*type, found);
  for (const api::RouteInfo* route : api::routes::kAll) {
    if (!is_nothing(route->request())) collect(route->request(), found);
    if (!is_nothing(route->response())) collect(route->response(), found);
  }
  Value schemas = object({});
  for (const auto& [name, type] : found) schemas.set(name, struct_schema(*type));
  Value failure =
      object({{"description", "What was wrong, where, and what to do."},
              {"content", content("application/json", reference(api::ErrorBody::kTypeName))}});
  Value token = object({{"type", "http"},
                        {"scheme", "bearer"},
                        {"description", "A token of 'tessera token create'."}});
  return object({{"schemas", std::move(schemas)},
                 {"responses", object({{"Error", std::move(failure)}})},
                 {"securitySchemes", object({{"token", std::move(token)}})}});
}

}  // namespace

Value openapi_document(std::string_view version) {
  return object(
      {{"openapi", "3.1.0"},
       {"info", object({{"title", "Tessera"},
                        {"version", version},
                        {"description",
                         "GPU container cloud. Objects are Kubernetes-shaped; unknown fields are "
                         "refused. On the server's Unix socket the kernel says who the caller is; "
                         "over TLS a token does."}})},
       {"servers", Value::List{object({{"url", "/"}, {"description", "The server."}})}},
       // Either a token, or none on the socket.
       {"security", Value::List{object({{"token", Value::List{}}}), object({})}},
       {"paths", paths()},
       {"components", components()}});
}

}  // namespace tessera::wire
