#include "server/router.h"

#include <algorithm>
#include <set>

#include "api/envelope.h"
#include "base/text.h"
#include "wire/json.h"

namespace tessera::server {

std::string Call::project() const {
  auto found = path.find("project");
  if (found != path.end()) return found->second;
  return {};
}

Attempt Call::attempt() const {
  auto name = path.find("name");
  return {.user = caller.user,
          .from = caller.from,
          .action = std::string(route->id),
          .object = name == path.end() ? project() : core::object_key(project(), name->second),
          .routine = route->permission == api::Permission::kRunJobs};
}

void Call::answer(std::string json, int status) const {
  exchange.respond({status, {{"Content-Type", "application/json"}}, std::move(json)});
}
void Call::answer_text(std::string text, int status) const {
  exchange.respond({status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(text)});
}
void Call::refuse(const Error& failure) const {
  exchange.respond(error_response(failure));
}
void Call::answer_value(const schema::Type& type, Value value, int status) const {
  answer(wire::to_json(api::to_wire(type, std::move(value))), status);
}

net::Response error_response(const Error& failure) {
  return {info(failure.code).http_status,
          {{"Content-Type", "application/json"}},
          wire::to_json(schema::encode(api::to_body(failure)))};
}

void Router::add(const api::RouteInfo& info, Handler handler) {
  rows_.push_back({&info, split(info.path, '/'), std::move(handler)});
}

std::vector<std::string> Router::unbound() const {
  std::vector<std::string> out;
  for (const api::RouteInfo* info : api::routes::kAll) {
    bool bound =
        std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) { return row.info == info; });
    if (!bound) out.emplace_back(info->id);
  }
  return out;
}

namespace {

bool path_matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
                  std::map<std::string, std::string>& values) {
  if (pattern.size() != path.size()) return false;
  values.clear();
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string& part = pattern[i];
    if (part.starts_with('{')) {
      if (path[i].empty()) return false;
      values[part.substr(1, part.size() - 2)] = path[i];
    } else if (part != path[i]) {
      return false;
    }
  }
  return true;
}

// A query value as the field's type wants it; what does not fit is left a string, for decode to
// refuse.
Value typed(const std::string& text, const schema::Type& type) {
  using Kind = schema::Type::Kind;
  if (type.kind == Kind::kBool && (text == "true" || text == "1" || text.empty()))
    return Value(true);
  if (type.kind == Kind::kBool && (text == "false" || text == "0")) return Value(false);
  if (type.kind == Kind::kInt || type.kind == Kind::kPercent)
    if (auto number = to_int(text)) return Value(*number);
  return Value(text);
}

Value query_value(const net::Params& params, const schema::Type& type) {
  Value::Map out;
  std::set<std::string> done;
  for (const auto& [name, text] : params) {
    if (!done.insert(name).second) continue;
    auto field =
        std::find_if(type.fields.begin(), type.fields.end(),
                     [&, &key = name](const schema::FieldType& f) { return f.name == key; });
    if (field != type.fields.end() && field->type->kind == schema::Type::Kind::kList) {
      Value::List items;
      for (const std::string& one : params.all(name))
        items.push_back(typed(one, *field->type->element));
      out.emplace_back(name, Value(std::move(items)));
    } else {
      out.emplace_back(name, field == type.fields.end() ? Value(text) : typed(text, *field->type));
    }
  }
  return Value(std::move(out));
}

Result<Value> body_value(const net::Request& request, const schema::Type& type) {
  if (type.kind == schema::Type::Kind::kStruct && type.fields.empty()) return Value(Value::Map{});
  if (trim(request.body).empty()) return Value(Value::Map{});
  TRY(Value tree, wire::parse_json(request.body).in("request body"));
  return api::from_wire(type, std::move(tree));
}

}  // namespace

Status Router::dispatch(net::Request& request, const net::Peer& peer,
                        const net::Exchange& exchange) {
  std::vector<std::string> path = split(request.path, '/');
  Call call{{}, nullptr, {}, request.headers, exchange};
  std::vector<std::string> other_methods;
  for (const Row& row : rows_) {
    if (!path_matches(row.parts, path, call.path)) continue;
    std::string_view method = enum_names(row.info->method)[static_cast<size_t>(row.info->method)];
    if (method != request.method) {
      other_methods.emplace_back(method);
      continue;
    }
    call.route = row.info;
    // A project's own routes name it as any object.
    bool own = row.info->path.starts_with("/api/v1/projects/{name}");
    TRY(call.caller,
        gate_.admit(*row.info, request, peer, own ? call.path.at("name") : call.project()));
    TRY(Value body, body_value(request, row.info->request()));
    Value query = query_value(request.params, row.info->query());
    return row.handler(std::move(call), query, body);
  }
  if (!other_methods.empty())
    return error(Code::kInvalid, cat(request.path, " does not take ", request.method), {},
                 cat("it takes ", join(other_methods, ", ")));
  return error(Code::kNotFound, cat("there is no ", request.path), {},
               "/openapi.json lists what there is");
}

void Router::handle(net::Request request, const net::Peer& peer, const net::Exchange& exchange) {
  Status status = dispatch(request, peer, exchange);
  if (!status.ok()) exchange.respond(error_response(status.error()));
}

}  // namespace tessera::server
