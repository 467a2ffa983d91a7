#pragma once
// The kinds as the command line knows them: their routes and their columns.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/envelope.h"
#include "api/routes.h"
#include "cli/command.h"

namespace tessera::cli {

struct ObjectKind {
  std::string_view kind;
  const api::RouteInfo* list;
  const api::RouteInfo* list_all;  // of all projects; nullptr when the kind has no projects
  const api::RouteInfo* get;       // nullptr: only in lists
  const api::RouteInfo* create;    // nullptr: observed, nobody writes it
  const api::RouteInfo* replace;
  const api::RouteInfo* remove;  // nullptr: nobody removes it
  // Decoded and encoded again, so that two ways to write the same are equal; with the line of a
  // mistake.
  Result<Value> (*normal)(const Value& object);
  std::vector<std::string> headers;
  size_t narrow;  // so many columns are shown without -o wide
  Result<std::vector<std::string>> (*cells)(const Value& object, Instant now);

  const api::KindInfo& info() const { return *api::find_kind(kind); }
};

std::span<const ObjectKind> object_kinds();

// By kind, plural or singular; kInvalid with the nearest one.
Result<const ObjectKind*> find_object_kind(std::string_view name);

// Operands "jobs", "job train other" or "job/train": the kind and the names, which may be none.
struct Selected {
  const ObjectKind* kind = nullptr;
  std::vector<std::string> names;
};
Result<Selected> select_objects(std::span<const std::string> operands);

// "job/train"
std::string object_label(const api::KindInfo& kind, std::string_view name);
// The name in "train" or "job/train".
std::string job_name(std::string_view operand);

}  // namespace tessera::cli
