#pragma once
// The API as an OpenAPI 3.1 document, made from the route table and the described structs.

#include <string_view>

#include "api/value.h"

namespace tessera::wire {

// `version` is that of the server.
Value openapi_document(std::string_view version);

}  // namespace tessera::wire
