#pragma once
// What the API says about a field, for help that cannot drift from it.

#include <string>
#include <string_view>

#include "api/schema.h"

namespace tessera::cli {

// The doc of the field at a path: schema_doc(describe<JobSpec>(), "resources.gpus"). A path that
// does not exist is a bug.
std::string schema_doc(const schema::Type& type, std::string_view path);

// How the type's values are written: "string", "list of Volume", "duration".
std::string type_name(const schema::Type& type);

}  // namespace tessera::cli
