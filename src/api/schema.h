#pragma once
// Described structs: each type of the API lists its fields once, with name, doc and limits, and
// from that list come JSON, YAML, OpenAPI, command line help, reference docs and validation.
//
//   struct Volume {
//     std::string source; ...
//     static constexpr std::string_view kTypeName = "Volume";
//     static constexpr auto fields() {
//       return std::tuple(field("source", &Volume::source, "Folder on the node.", {.required =
//       true}), ...);
//     }
//   };
//   static_assert(schema::complete<Volume>());   // a forgotten field does not compile

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "api/value.h"
#include "base/units.h"

namespace tessera::schema {

// The shape of a string beyond its length.
enum class Format {
  kNone,
  kName,          // DNS label: a-z, 0-9 and '-', at most 63, no '-' at the ends
  kEnvName,       // name of an environment variable
  kAbsolutePath,  // begins with '/', has no '..' part
  kLabelKey,      // [prefix/]name as Kubernetes has it
};

// Limits and traits of a field. For strings `maximum` counts bytes, for lists and maps entries, for
// amounts it is in the amount's own unit (MiB, milli, percent, ms).
struct Rules {
  bool required = false;
  bool read_only = false;  // set by the server; a client's value is ignored
  bool secret = false;     // never shown by get or describe
  std::optional<int64_t> minimum;
  std::optional<int64_t> maximum;
  std::optional<int64_t> value_maximum;  // bytes of each string in a list or map
  Format format = Format::kNone;         // of the string, or of each string in the list
  Format key_format = Format::kNone;     // of a map's keys
  std::string_view example;
};

template <class S, class M>
struct Field {
  std::string_view name;
  M S::* member;
  std::string_view doc;
  Rules rules;
};

template <class S, class M>
constexpr Field<S, M> field(std::string_view name, M S::* member, std::string_view doc,
                            Rules rules = {}) {
  return {name, member, doc, rules};
}

template <class T>
concept Described = requires {
  T::fields();
  { T::kTypeName } -> std::convertible_to<std::string_view>;
};

// An enum of the API names its values in order: constexpr std::array<std::string_view, N> names(E).
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) { enum_names(value).size(); };

namespace detail {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT implicit; never defined, only asked about
};

template <class T, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}

template <class T, size_t N = 0, size_t Last = 0>
constexpr size_t arity() {
  // Counts upwards; the largest number of initialisers that the aggregate takes is its arity.
  if constexpr (N > 64) {
    return Last;
  } else if constexpr (takes<T>(std::make_index_sequence<N>{})) {
    return arity<T, N + 1, N>();
  } else {
    return arity<T, N + 1, Last>();
  }
}

}  // namespace detail

// Whether fields() lists each member of T.
template <Described T>
consteval bool complete() {
  return detail::arity<T>() == std::tuple_size_v<decltype(T::fields())>;
}

// A type at run time, for what is generated from the schema: OpenAPI, reference docs, help.
struct FieldType;
struct Type {
  enum class Kind {
    kBool,
    kInt,
    kString,
    kMemory,
    kMilli,
    kPercent,
    kDuration,
    kTime,
    kEnum,
    kList,
    kMap,
    kStruct,
    kAny
  };
  Kind kind = Kind::kAny;
  std::string_view name;                // of a struct
  const Type* element = nullptr;        // of a list, a map's values
  std::vector<FieldType> fields;        // of a struct
  std::vector<std::string_view> names;  // of an enum
};
struct FieldType {
  std::string_view name;
  std::string_view doc;
  Rules rules;
  const Type* type = nullptr;
  bool optional = false;
};

}  // namespace tessera::schema
