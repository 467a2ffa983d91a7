#pragma once
// The templates of api/codec.h. Include only in a .cc that instantiates: TESSERA_CODEC(Job).

#include <array>
#include <cmath>

#include "api/codec.h"
#include "base/text.h"

namespace tessera::schema {

#define TESSERA_CODEC(T)                                                         \
  template tessera::Result<T> tessera::schema::decode<T>(const tessera::Value&); \
  template tessera::Value tessera::schema::encode<T>(const T&);                  \
  template const tessera::schema::Type& tessera::schema::describe<T>();

// Where in the document the decoder is, as a chain on the stack; text only when there is an error.
struct Path {
  const Path* parent = nullptr;
  std::string_view name;
  int64_t index = -1;
  std::string text() const;
};

Error fault(const Path& path, const Value& at, std::string message, std::string hint = {});
// In what a limit is counted, and so how it is told.
enum class Unit { kNone, kMilli, kMiB, kMillis };
Status check_number(const Path& path, const Value& at, int64_t number, const Rules& rules,
                    Unit unit = Unit::kNone);
Status check_string(const Path& path, const Value& at, std::string_view text, const Rules& rules);
Status check_format(const Path& path, const Value& at, std::string_view text, Format format);
Status check_count(const Path& path, const Value& at, size_t count, const Rules& rules);
Error unknown_field(const Path& path, const Value& at, std::string_view name, const Type& known);
Result<int64_t> read_int(const Path& path, const Value& at);
Result<int64_t> read_milli(const Path& path, const Value& at);
Result<MiB> read_memory(const Path& path, const Value& at);
Result<Millis> read_duration(const Path& path, const Value& at);

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsStringMap : std::false_type {};
template <class T>
struct IsStringMap<std::map<std::string, T>> : std::true_type {};

// Made once: T::fields() as a call would make its tuple anew for each key of each document.
template <Described T>
inline constexpr auto kFieldsOf = T::fields();

template <class T>
Status read(const Path& path, const Value& at, const Rules& rules, T& out);

template <Described T>
Status read_struct(const Path& path, const Value& at, T& out) {
  const Value::Map* members = at.map();
  if (!members) return fault(path, at, cat("must be a map, not ", at.kind()));
  std::vector<std::string_view> seen;
  size_t next = 0;  // what we wrote ourselves comes in the order of the fields
  for (const auto& [key, value] : *members) {
    for (std::string_view earlier : seen)
      if (earlier == key) return fault(Path{&path, key}, value, "is given twice");
    seen.push_back(key);
    bool known = false;
    Status status = Ok;
    auto look_from = [&](size_t first) {
      size_t index = 0;
      std::apply(
          [&](const auto&... field) {
            [[maybe_unused]] auto one = [&](const auto& f) {
              if (index++ < first || known || f.name != key) return;
              known = true;
              next = index;
              if (!value.is_null())
                status = read(Path{&path, f.name}, value, f.rules, out.*f.member);
            };
            (one(field), ...);
          },
          kFieldsOf<T>);
    };
    look_from(next);
    if (!known) look_from(0);
    if (!status.ok()) return status;
    if (!known) return unknown_field(Path{&path, key}, value, key, describe<T>());
  }
  Status missing = Ok;
  std::apply(
      [&](const auto&... field) {
        [[maybe_unused]] auto one = [&](const auto& f) {
          if (!missing.ok() || !f.rules.required) return;
          const Value* member = at.find(f.name);
          if (!member || member->is_null())
            missing = fault(Path{&path, f.name}, at, "is required",
                            f.rules.example.empty() ? "" : cat("for example ", f.rules.example));
        };
        (one(field), ...);
      },
      kFieldsOf<T>);
  return missing;
}

template <class T>
Status read_list(const Path& path, const Value& at, const Rules& rules, std::vector<T>& out) {
  const Value::List* items = at.list();
  if (!items) return fault(path, at, cat("must be a list, not ", at.kind()));
  TRY_STATUS(check_count(path, at, items->size(), rules));
  Rules element{.maximum = rules.value_maximum, .format = rules.format};
  out.clear();
  for (size_t i = 0; i < items->size(); ++i) {
    out.emplace_back();
    TRY_STATUS(read(Path{&path, {}, static_cast<int64_t>(i)}, (*items)[i], element, out.back()));
  }
  return Ok;
}

template <class T>
Status read_map(const Path& path, const Value& at, const Rules& rules,
                std::map<std::string, T>& out) {
  const Value::Map* members = at.map();
  if (!members) return fault(path, at, cat("must be a map, not ", at.kind()));
  TRY_STATUS(check_count(path, at, members->size(), rules));
  out.clear();
  for (const auto& [key, value] : *members) {
    Path member{&path, key};
    TRY_STATUS(check_format(member, value, key, rules.key_format));
    if (out.contains(key)) return fault(member, value, "is given twice");
    TRY_STATUS(read(member, value, Rules{.maximum = rules.value_maximum}, out[key]));
  }
  return Ok;
}

template <NamedEnum T>
Status read_enum(const Path& path, const Value& at, T& out) {
  constexpr auto kNames = enum_names(T{});
  const std::string* text = at.string();
  for (size_t i = 0; text && i < kNames.size(); ++i) {
    if (kNames[i] != *text) continue;
    out = static_cast<T>(i);
    return Ok;
  }
  std::vector<std::string> names(kNames.begin(), kNames.end());
  std::string what = text ? cat(quoted(*text), " is not one of ") : cat("must be one of ");
  auto near = text ? nearest(*text, kNames) : std::nullopt;
  return fault(path, at, what + join(names, ", "), near ? cat("did you mean ", *near, "?") : "");
}

template <class T>
Status read(const Path& path, const Value& at, const Rules& rules, T& out) {
  if constexpr (IsOptional<T>::value) {
    out.emplace();
    return read(path, at, rules, *out);
  } else if constexpr (std::same_as<T, bool>) {
    if (!at.boolean()) return fault(path, at, cat("must be true or false, not ", at.kind()));
    out = *at.boolean();
    return Ok;
  } else if constexpr (std::same_as<T, std::string>) {
    if (!at.string())
      return fault(path, at, cat("must be a string, not ", at.kind()), "put it in quotes");
    TRY_STATUS(check_string(path, at, *at.string(), rules));
    out = *at.string();
    return Ok;
  } else if constexpr (std::same_as<T, int64_t>) {
    TRY(out, read_int(path, at));
    return check_number(path, at, out, rules);
  } else if constexpr (std::same_as<T, Percent>) {
    TRY(out.value, read_int(path, at));
    return check_number(path, at, out.value, rules);
  } else if constexpr (std::same_as<T, MilliGpu> || std::same_as<T, MilliCpu>) {
    TRY(out.value, read_milli(path, at));
    return check_number(path, at, out.value, rules, Unit::kMilli);
  } else if constexpr (std::same_as<T, MiB>) {
    TRY(out, read_memory(path, at));
    return check_number(path, at, out.value, rules, Unit::kMiB);
  } else if constexpr (std::same_as<T, Millis>) {
    TRY(out, read_duration(path, at));
    return check_number(path, at, out.value, rules, Unit::kMillis);
  } else if constexpr (std::same_as<T, Instant>) {
    if (!at.string()) return fault(path, at, "must be a time like 2026-01-31T12:00:00Z");
    auto parsed = parse_instant(*at.string());
    if (!parsed.ok()) return fault(path, at, parsed.error().message, parsed.error().hint);
    out = *parsed;
    return Ok;
  } else if constexpr (NamedEnum<T>) {
    return read_enum(path, at, out);
  } else if constexpr (IsVector<T>::value) {
    return read_list(path, at, rules, out);
  } else if constexpr (IsStringMap<T>::value) {
    return read_map(path, at, rules, out);
  } else if constexpr (std::same_as<T, Value>) {
    out = at;
    return Ok;
  } else {
    return read_struct(path, at, out);
  }
}

template <class T>
Value write(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? write(*value) : Value();
  } else if constexpr (std::same_as<T, bool> || std::same_as<T, std::string> ||
                       std::same_as<T, int64_t> || std::same_as<T, Value>) {
    return Value(value);
  } else if constexpr (std::same_as<T, Percent>) {
    return Value(value.value);
  } else if constexpr (std::same_as<T, MilliGpu> || std::same_as<T, MilliCpu>) {
    if (value.value % 1000 == 0) return Value(value.value / 1000);
    return Value(static_cast<double>(value.value) / 1000);
  } else if constexpr (std::same_as<T, MiB>) {
    return Value(format_memory(value));
  } else if constexpr (std::same_as<T, Millis>) {
    return Value(format_duration(value));
  } else if constexpr (std::same_as<T, Instant>) {
    return Value(format_instant(value));
  } else if constexpr (NamedEnum<T>) {
    return Value(enum_names(value)[static_cast<size_t>(value)]);
  } else if constexpr (IsVector<T>::value) {
    Value::List items;
    for (const auto& item : value) items.push_back(write(item));
    return Value(std::move(items));
  } else if constexpr (IsStringMap<T>::value) {
    Value::Map members;
    for (const auto& [key, member] : value) members.emplace_back(key, write(member));
    return Value(std::move(members));
  } else {
    static const T kDefault{};
    Value::Map members;
    [[maybe_unused]] auto one = [&](const auto& f) {
      if (f.rules.required || !(value.*f.member == kDefault.*f.member))
        members.emplace_back(std::string(f.name), write(value.*f.member));
    };
    std::apply([&](const auto&... field) { (one(field), ...); }, kFieldsOf<T>);
    return Value(std::move(members));
  }
}

template <class T>
const Type& type_of() {
  if constexpr (IsOptional<T>::value) {
    return type_of<typename T::value_type>();
  } else {
    static const Type type = [] {
      using Kind = Type::Kind;
      Type made;
      if constexpr (std::same_as<T, bool>)
        made.kind = Kind::kBool;
      else if constexpr (std::same_as<T, std::string>)
        made.kind = Kind::kString;
      else if constexpr (std::same_as<T, int64_t>)
        made.kind = Kind::kInt;
      else if constexpr (std::same_as<T, Percent>)
        made.kind = Kind::kPercent;
      else if constexpr (std::same_as<T, MilliGpu> || std::same_as<T, MilliCpu>)
        made.kind = Kind::kMilli;
      else if constexpr (std::same_as<T, MiB>)
        made.kind = Kind::kMemory;
      else if constexpr (std::same_as<T, Millis>)
        made.kind = Kind::kDuration;
      else if constexpr (std::same_as<T, Instant>)
        made.kind = Kind::kTime;
      else if constexpr (std::same_as<T, Value>)
        made.kind = Kind::kAny;
      else if constexpr (NamedEnum<T>) {
        made.kind = Kind::kEnum;
        constexpr auto kNames = enum_names(T{});
        made.names.assign(kNames.begin(), kNames.end());
      } else if constexpr (IsVector<T>::value) {
        made.kind = Kind::kList;
        made.element = &type_of<typename T::value_type>();
      } else if constexpr (IsStringMap<T>::value) {
        made.kind = Kind::kMap;
        made.element = &type_of<typename T::mapped_type>();
      } else {
        made.kind = Kind::kStruct;
        made.name = T::kTypeName;
        [[maybe_unused]] auto one = [&]<class S, class M>(const Field<S, M>& f) {
          made.fields.push_back({f.name, f.doc, f.rules, &type_of<M>(), IsOptional<M>::value});
        };
        std::apply([&](const auto&... field) { (one(field), ...); }, kFieldsOf<T>);
      }
      return made;
    }();
    return type;
  }
}

template <class T>
Result<T> decode(const Value& value) {
  T out{};
  TRY_STATUS(read(Path{}, value, {}, out));
  return out;
}
template <class T>
Value encode(const T& value) {
  return write(value);
}
template <class T>
const Type& describe() {
  return type_of<T>();
}

}  // namespace tessera::schema
