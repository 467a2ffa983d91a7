#pragma once
// The servers that one person uses, and as whom: written by `tessera login`, in a file that only
// they may read.

#include <string>
#include <string_view>
#include <vector>

#include "api/schema.h"
#include "base/result.h"

namespace tessera::client {

// More servers than one person signs in to.
inline constexpr size_t kContextLimit = 256;

struct SavedContext {
  std::string name;
  std::string server;
  std::string ca;
  std::string token;
  std::string project;

  bool operator==(const SavedContext&) const = default;
  static constexpr std::string_view kTypeName = "SavedContext";
  static constexpr auto fields() {
    using schema::field;
    return std::tuple(
        field("name", &SavedContext::name, "What it is called here.", {.required = true}),
        field("server", &SavedContext::server, "URL, or path of a Unix socket.",
              {.required = true}),
        field("ca", &SavedContext::ca,
              "Certificate of the CA that vouches for the server, in PEM."),
        field("token", &SavedContext::token, "What signs in there."),
        field("project", &SavedContext::project, "Project of commands that name none."));
  }
};
static_assert(schema::complete<SavedContext>());

struct ContextFile {
  std::string current;
  std::vector<SavedContext> contexts;

  // kNotFound with the names that there are.
  Result<const SavedContext*> find(std::string_view name) const;
  // Puts it in the place of the one with the same name, if there is one.
  Status put(SavedContext context);

  bool operator==(const ContextFile&) const = default;
  static constexpr std::string_view kTypeName = "ContextFile";
  static constexpr auto fields() {
    using schema::field;
    return std::tuple(
        field("current", &ContextFile::current, "The one that commands use."),
        field("contexts", &ContextFile::contexts, "All.", {.maximum = kContextLimit}));
  }
};
static_assert(schema::complete<ContextFile>());

// contexts.yaml of the folder; nothing when there is none.
Result<ContextFile> read_contexts(const std::string& folder);
// Mode 0600: there are tokens in it.
Status write_contexts(const std::string& folder, const ContextFile& file);

}  // namespace tessera::client
