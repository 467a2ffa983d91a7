#pragma once
// Between Value trees and described structs. The templates behind these are instantiated once, in
// the .cc of whoever owns the struct (TESSERA_CODEC in api/codec_impl.h); everyone else only links.

#include "api/schema.h"
#include "base/result.h"

namespace tessera::schema {

// Fills a T. Unknown fields, wrong types and broken limits are errors that name the field's path
// (and the line, when known) and, for an unknown field, the nearest one that exists.
template <class T>
Result<T> decode(const Value& value);

// Leaves out what equals the default; what comes back through decode() is equal.
template <class T>
Value encode(const T& value);

template <class T>
const Type& describe();

}  // namespace tessera::schema
