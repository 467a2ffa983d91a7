#pragma once
// Objects as readers and the store get them: encoded once a change.

#include "api/codec.h"
#include "api/envelope.h"
#include "server/view.h"
#include "wire/json.h"

namespace tessera::server {

// With apiVersion and kind, as it is stored.
template <class Object>
Value full_tree(const Object& object) {
  return api::to_wire(schema::describe<Object>(), schema::encode(object));
}

template <class Object>
Entry make_entry(std::string_view kind, std::string key, const std::string& project,
                 int64_t version, const Object& object, bool over = false) {
  std::string json = wire::to_json(full_tree(object));
  json.shrink_to_fit();  // readers are given it as long as the object lives
  return {.kind = std::string(kind),
          .key = std::move(key),
          .project = project,
          .version = version,
          .over = over,
          .json = std::move(json)};
}

template <class Object>
Result<Object> decode_tree(Value tree) {
  TRY(Value plain, api::from_wire(schema::describe<Object>(), std::move(tree)));
  return schema::decode<Object>(plain);
}

template <class Object>
Result<Object> decode_stored(std::string_view body) {
  TRY(Value tree, wire::parse_json(body));
  return decode_tree<Object>(std::move(tree));
}

}  // namespace tessera::server
