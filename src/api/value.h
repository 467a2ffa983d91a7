#pragma once
// A document as a tree, between text (JSON, YAML: src/wire) and described structs (api/codec.h).
// Maps keep the order in which they were written, and each value knows its line, so that an error
// about a manifest can say where.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

struct Value {
  using List = std::vector<Value>;
  using Map = std::vector<std::pair<std::string, Value>>;

  std::variant<std::monostate, bool, int64_t, double, std::string, List, Map> data;
  int line = 0;  // 1-based line in the text it came from; 0 when unknown

  Value() = default;
  Value(bool b) : data(b) {}                           // NOLINT implicit
  Value(int64_t i) : data(i) {}                        // NOLINT implicit
  Value(double d) : data(d) {}                         // NOLINT implicit
  Value(std::string s) : data(std::move(s)) {}         // NOLINT implicit
  Value(std::string_view s) : data(std::string(s)) {}  // NOLINT implicit
  Value(const char* s) : data(std::string(s)) {}       // NOLINT implicit
  Value(List l) : data(std::move(l)) {}                // NOLINT implicit
  Value(Map m) : data(std::move(m)) {}                 // NOLINT implicit

  bool is_null() const { return std::holds_alternative<std::monostate>(data); }
  const std::string* string() const { return std::get_if<std::string>(&data); }
  const int64_t* integer() const { return std::get_if<int64_t>(&data); }
  const bool* boolean() const { return std::get_if<bool>(&data); }
  const List* list() const { return std::get_if<List>(&data); }
  const Map* map() const { return std::get_if<Map>(&data); }
  Map* map() { return std::get_if<Map>(&data); }

  // The member of a map; nullptr when this is no map or has no such key.
  const Value* find(std::string_view key) const;
  // The string at a path of keys: text("metadata", "name"); empty when there is none.
  template <class... Keys>
  std::string text(Keys... keys) const {
    const Value* at = this;
    ((at = at ? at->find(keys) : nullptr), ...);
    return at && at->string() ? *at->string() : std::string();
  }
  // Sets or replaces a member; makes this a map when it is null.
  void set(std::string_view key, Value value);

  // The kind of value in words, for messages: "a string", "a list".
  std::string_view kind() const;
  // Equal data; lines do not matter.
  bool operator==(const Value& other) const { return data == other.data; }
};

// JSON merge patch (RFC 7396): null removes a member, maps merge, everything else replaces.
Value merge_patch(Value target, const Value& patch);

}  // namespace tessera
