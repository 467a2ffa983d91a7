#pragma once
// What stands around the structs on the wire: apiVersion and kind beside metadata, spec and status,
// errors as bodies, and the lines of a watch. Server and client both cross this edge here.

#include <string_view>
#include <utility>

#include "api/metadata.h"
#include "api/requests.h"
#include "api/value.h"
#include "base/result.h"

namespace tessera::api {

// Who submitted an object: set by the server, and a client's own value is replaced.
inline constexpr std::string_view kUserAnnotation = "tessera.dev/user";

// The object as users see it: apiVersion and kind in front of what schema::encode() gave.
Value wrap(const KindInfo& kind, Value object);

// Takes apiVersion and kind off a manifest and says which kind it is. Both must be there; a wrong
// one is an error with the nearest that exists.
Result<std::pair<const KindInfo*, Value>> unwrap(Value document);

// The same by the type of a route's body or answer. A kind gets (loses) its envelope, so do a list
// of a kind (JobList) and its items; every other type passes as it is. from_wire() also accepts an
// object without envelope, since the route says what it is, but none of another kind.
Value to_wire(const schema::Type& type, Value value);
Result<Value> from_wire(const schema::Type& type, Value value);

// The kind that the type is or lists; nullptr when it is neither.
const KindInfo* kind_of(const schema::Type& type);

ErrorBody to_body(const Error& failure);
// A code that this version does not know becomes kInternal.
Error from_body(const ErrorBody& body);

enum class Change { kAdded, kModified, kDeleted, kError };
constexpr std::array<std::string_view, 4> enum_names(Change) {
  return {"ADDED", "MODIFIED", "DELETED", "ERROR"};
}

// One line of a watch, as Kubernetes has it.
struct WatchEvent {
  Change type = Change::kAdded;
  Value object;

  bool operator==(const WatchEvent&) const = default;
  static constexpr std::string_view kTypeName = "WatchEvent";
  static constexpr auto fields() {
    return std::tuple(
        field("type", &WatchEvent::type, "What happened to the object.", {.required = true}),
        field("object", &WatchEvent::object,
              "The object after the change, or before its deletion. For ERROR the Error that ends "
              "the watch.",
              {.required = true}));
  }
};
static_assert(schema::complete<WatchEvent>());

}  // namespace tessera::api
