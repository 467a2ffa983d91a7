#pragma once
// docker run's flags that Tessera does not offer: each is known by name and refused with a reason,
// never ignored and never "unknown".

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/flags.h"

namespace tessera::cli {

struct Refusal {
  std::string_view name;
  char letter;
  std::string_view value;     // empty: a switch
  std::string_view harmless;  // this value asks for what is done anyhow, and passes
  std::string_view reason;
};

std::span<const Refusal> refusals();

// The refused flags as hidden rows for the parser.
std::vector<Flag> refused_flags();

// The first refused flag among what was given, as an error.
Status check_refusals(const Args& args);

}  // namespace tessera::cli
