#pragma once
// What one object must satisfy beyond the limits of its single fields.

#include "api/job.h"
#include "api/objects.h"
#include "base/result.h"

namespace tessera::api {

Status validate(const Job& job);
Status validate(const Project& project);
Status validate(const Secret& secret);
Status validate(const User& user);
Status validate(const Token& token);

// "SIGTERM", "TERM", "15" → "SIGTERM"; kInvalid for what is no signal.
Result<std::string> canonical_signal(std::string_view name);

}  // namespace tessera::api
