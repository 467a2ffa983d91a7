#pragma once
// What every object carries, and the table of kinds.

#include <array>
#include <span>

#include "api/schema.h"

namespace tessera::api {

using schema::field;

inline constexpr std::string_view kApiVersion = "tessera.dev/v1";

struct Metadata {
  std::string name;
  std::string generateName;
  std::string project;
  std::string uid;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  int64_t generation = 0;
  int64_t resourceVersion = 0;
  Instant creationTimestamp;
  std::optional<Instant> deletionTimestamp;

  bool operator==(const Metadata&) const = default;
  static constexpr std::string_view kTypeName = "Metadata";
  static constexpr auto fields() {
    return std::tuple(
        field("name", &Metadata::name,
              "Name, unique among objects of its kind in the project. Chosen by the server when "
              "empty."),
        field("generateName", &Metadata::generateName,
              "Of a job without a name: what the name that the server chooses begins with.",
              {.example = "train-"}),
        field("project", &Metadata::project,
              "Project that owns the object; 'default' when empty. Empty for objects of the "
              "cluster."),
        field("uid", &Metadata::uid, "Unique for ever, also when the name is used again.",
              {.read_only = true}),
        field("labels", &Metadata::labels, "Key-value pairs to select objects by.",
              {.maximum = 64, .key_format = schema::Format::kLabelKey}),
        field("annotations", &Metadata::annotations,
              "Key-value pairs that tools keep for themselves.",
              {.maximum = 64, .key_format = schema::Format::kLabelKey}),
        field("generation", &Metadata::generation, "Counts changes of the spec.",
              {.read_only = true}),
        field("resourceVersion", &Metadata::resourceVersion,
              "Changes with every change of the object. Send it back with a replace to be told "
              "(409) if someone was faster."),
        field("creationTimestamp", &Metadata::creationTimestamp, "When the object was accepted.",
              {.read_only = true}),
        field("deletionTimestamp", &Metadata::deletionTimestamp,
              "When its deletion was asked for; it goes once it has stopped.",
              {.read_only = true}));
  }
};
static_assert(schema::complete<Metadata>());

// One row a kind: names on the wire, in paths and on the command line.
struct KindInfo {
  std::string_view kind;
  std::string_view plural;
  std::string_view singular;
  bool in_project;  // false: an object of the cluster
  std::string_view doc;
};

inline constexpr std::array<KindInfo, 8> kKinds = {{
    {"Job", "jobs", "job", true, "A container, or a gang of equal ones, that runs to its end."},
    {"Project", "projects", "project", false,
     "A tenant: its members, its quota, its network and what it may mount."},
    {"Node", "nodes", "node", false, "A machine that runs containers."},
    {"Accelerator", "accelerators", "accelerator", false, "A GPU, NPU or TPU of a node."},
    {"Event", "events", "event", true, "Something that happened to an object, in one sentence."},
    {"Secret", "secrets", "secret", true, "Named values that jobs get as environment variables."},
    {"User", "users", "user", false, "Someone who uses Tessera over the network, with tokens."},
    {"Token", "tokens", "token", false, "A secret text that signs a user in, until it expires."},
}};

// By kind, plural or singular, ignoring case; nullptr when there is none.
const KindInfo* find_kind(std::string_view name);

}  // namespace tessera::api
