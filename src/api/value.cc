#include "api/value.h"

#include <algorithm>

namespace tessera {

const Value* Value::find(std::string_view key) const {
  const Map* members = map();
  if (!members) return nullptr;
  for (const auto& [name, value] : *members)
    if (name == key) return &value;
  return nullptr;
}

void Value::set(std::string_view key, Value value) {
  if (is_null()) data = Map{};
  Map& members = std::get<Map>(data);
  for (auto& [name, existing] : members) {
    if (name != key) continue;
    existing = std::move(value);
    return;
  }
  members.emplace_back(std::string(key), std::move(value));
}

std::string_view Value::kind() const {
  static constexpr std::string_view kNames[] = {
      "null", "true or false", "a whole number", "a number", "a string", "a list", "a map"};
  return kNames[data.index()];
}

Value merge_patch(Value target, const Value& patch) {
  const Value::Map* changes = patch.map();
  if (!changes) return patch;
  if (!target.map()) target.data = Value::Map{};
  for (const auto& [key, change] : *changes) {
    Value::Map& members = *target.map();
    if (change.is_null()) {
      std::erase_if(members, [&](const auto& member) { return member.first == key; });
      continue;
    }
    const Value* existing = target.find(key);
    target.set(key, merge_patch(existing ? *existing : Value(), change));
  }
  return target;
}

}  // namespace tessera
