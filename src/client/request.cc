#include "client/request.h"

#include "api/envelope.h"
#include "base/text.h"
#include "wire/json.h"

namespace tessera::client {

namespace {

Result<std::string> fill_path(std::string_view pattern, const PathParams& params) {
  std::string out;
  size_t at = 0;
  while (at < pattern.size()) {
    size_t open = pattern.find('{', at);
    out += pattern.substr(at, open - at);
    if (open == std::string_view::npos) break;
    size_t close = pattern.find('}', open);
    std::string_view name = pattern.substr(open + 1, close - open - 1);
    const std::string* value = nullptr;
    for (const auto& [key, text] : params)
      if (key == name) value = &text;
    CHECK(value);
    if (value->empty() || value->find('/') != std::string::npos)
      return error(Code::kInvalid, cat(quoted(*value), " is not a name"), std::string(name));
    out += *value;
    at = close + 1;
  }
  return out;
}

std::string scalar_text(const Value& value) {
  if (value.string()) return *value.string();
  if (value.boolean()) return *value.boolean() ? "true" : "false";
  return wire::to_json(value);
}

Code code_of_status(int status) {
  for (const CodeInfo& row : kCodes)
    if (row.http_status == status) return row.code;
  return status >= 500 ? Code::kUnavailable : Code::kInvalid;
}

void leave_out_unknown(const schema::Type& type, Value& value) {
  if (type.kind == schema::Type::Kind::kStruct && value.map()) {
    std::erase_if(*value.map(), [&](const auto& member) {
      for (const schema::FieldType& field : type.fields)
        if (field.name == member.first) return false;
      return true;
    });
    for (auto& [name, member] : *value.map())
      for (const schema::FieldType& field : type.fields)
        if (field.name == name) leave_out_unknown(*field.type, member);
  } else if (type.kind == schema::Type::Kind::kMap && value.map()) {
    for (auto& [name, member] : *value.map()) leave_out_unknown(*type.element, member);
  } else if (type.kind == schema::Type::Kind::kList && value.list()) {
    for (Value& item : std::get<Value::List>(value.data)) leave_out_unknown(*type.element, item);
  }
}

}  // namespace

net::Params to_params(const Value& query) {
  net::Params out;
  if (!query.map()) return out;
  for (const auto& [name, value] : *query.map()) {
    if (const Value::List* items = value.list()) {
      for (const Value& item : *items) out.add(name, scalar_text(item));
    } else {
      out.add(name, scalar_text(value));
    }
  }
  return out;
}

Result<net::Request> to_request(const Call& call) {
  net::Request request;
  request.method =
      std::string(enum_names(call.route.method)[static_cast<size_t>(call.route.method)]);
  TRY(request.path, fill_path(call.route.path, call.path));
  request.params = to_params(call.query);
  bool has_body = call.route.request().kind != schema::Type::Kind::kStruct ||
                  call.route.request().name != api::Nothing::kTypeName;
  if (has_body) {
    request.headers.add("Content-Type", call.route.method == api::Method::kPatch
                                            ? "application/merge-patch+json"
                                            : "application/json");
    request.body = wire::to_json(api::to_wire(call.route.request(), call.body));
  }
  if (!call.idempotency_key.empty()) request.headers.add("Idempotency-Key", call.idempotency_key);
  return request;
}

std::optional<Error> to_error(Value document) {
  leave_out_unknown(schema::describe<api::ErrorBody>(), document);
  auto body = schema::decode<api::ErrorBody>(document);
  if (!body.ok()) return std::nullopt;
  return api::from_body(*body);
}

Error to_error(const net::Response& response) {
  if (auto document = wire::parse_json(response.body); document.ok())
    if (auto described = to_error(std::move(*document))) return *described;
  std::string text(trim(response.body));
  if (text.empty() || text.find('\n') != std::string::npos)
    text = cat("the server answered with status ", response.status);
  return error(code_of_status(response.status), std::move(text));
}

Result<Value> to_answer(const schema::Type& type, Value document) {
  auto value = api::from_wire(type, std::move(document));
  if (!value.ok()) return std::move(value).error().in("the server's answer");
  leave_out_unknown(type, *value);
  return value;
}

Result<Value> parse_answer(const schema::Type& type, std::string_view json) {
  auto document = wire::parse_json(json);
  if (!document.ok())
    return error(Code::kInternal, "the server's answer is " + document.error().message);
  return to_answer(type, std::move(*document));
}

}  // namespace tessera::client
