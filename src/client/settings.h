#pragma once
// Which server and which project a command means.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/schema.h"
#include "base/result.h"

namespace tessera::client {

inline constexpr std::string_view kDefaultSocket = "/run/tessera/tessera.sock";
inline constexpr std::string_view kDefaultProject = "default";

// $XDG_CONFIG_HOME/tessera/config.yaml
struct ConfigFile {
  std::string server;
  std::string project;

  bool operator==(const ConfigFile&) const = default;
  static constexpr std::string_view kTypeName = "ConfigFile";
  static constexpr auto fields() {
    return std::tuple(
        schema::field("server", &ConfigFile::server, "Path of the server's Unix socket.",
                      {.example = "/run/tessera/tessera.sock"}),
        schema::field("project", &ConfigFile::project, "Project of commands that name none.",
                      {.format = schema::Format::kName}));
  }
};
static_assert(schema::complete<ConfigFile>());

// A mistake inside a file: the file's name goes in front, also of the field.
Error in_file(const Error& mistake, std::string_view name);

struct Settings {
  std::string socket;
  std::string project;
  bool project_chosen = false;  // somebody named it: it is not the default
};

// Looks a variable of the environment up; nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

// The first of: flag, TESSERA_SERVER / TESSERA_PROJECT, config file, default. An empty text counts
// as not given. kInvalid on a broken config file or a server that is no Unix socket.
Result<Settings> resolve_settings(std::string_view server_flag, std::string_view project_flag,
                                  const Environment& environment);

}  // namespace tessera::client
