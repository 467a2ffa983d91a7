#pragma once
// The fields of Kubernetes' Job and Pod as one table: what each becomes, or why it is refused. The
// check of a manifest and docs/reference/kubernetes.md both come from it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"
#include "base/result.h"

namespace tessera::kubernetes {

enum class Treatment {
  kUsed,     // translated
  kMoot,     // what it asks for is so in any case
  kRefused,  // cannot be had
};

// A path begins with what it is a field of: object (Job and Pod), job (spec of a Job), template, or
// pod (spec of a Pod, and of a Job's template). "[]" stands for each entry of a list.
struct Rule {
  std::string_view path;
  Treatment treatment;
  std::string_view text;           // what it becomes, why it is moot, or why it is refused
  std::string_view harmless = {};  // of a refused one: this value asks for what is so anyhow
};
std::span<const Rule> rules();

// Mistakes are collected, so that one answer names them all.
using Refusals = std::vector<Error>;

// One at `path`, with the line of the value when it is known.
Error refusal(const std::string& path, const Value& at, std::string why, std::string hint = {});

// Everything in the document that has no rule or a refusing one.
void check_fields(const Value& document, bool is_pod, Refusals& out);

// A scalar as a manifest writes it; empty for a list or a map.
std::string scalar_text(const Value& value);

}  // namespace tessera::kubernetes
