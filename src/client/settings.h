#pragma once
// Which server and which project a command means.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/schema.h"
#include "base/result.h"
#include "net/tls.h"

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
        schema::field("server", &ConfigFile::server,
                      "Path of the server's Unix socket, or its URL (https://HOST:PORT).",
                      {.example = "/run/tessera/tessera.sock"}),
        schema::field("project", &ConfigFile::project, "Project of commands that name none.",
                      {.format = schema::Format::kName}));
  }
};
static_assert(schema::complete<ConfigFile>());

// A mistake inside a file: the file's name goes in front, also of the field.
Error in_file(const Error& mistake, std::string_view name);

// Where requests go, and as whom.
struct Settings {
  std::string socket;                  // of a local server
  std::optional<net::TlsTarget> host;  // of one over the network, instead
  std::string token;                   // empty: the socket tells the server who we are
  std::string context;                 // name of the one that was taken; may be empty
  std::string project;
  bool project_chosen = false;  // somebody named it: it is not the default
};

// What flags of a command line say; empty texts count as not given.
struct SettingFlags {
  std::string server;
  std::string context;
  std::string project;
};

// Looks a variable of the environment up; nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

// The server is the first of: --server, --context, TESSERA_HOST, TESSERA_SERVER, TESSERA_CONTEXT,
// the current context, the config file, the default socket. A URL of a server that a context knows
// is used with that context's CA and token; TESSERA_CA (a file) and TESSERA_TOKEN go before them.
// The project: --project, TESSERA_PROJECT, the context's, the config file's, the default.
// kInvalid on a broken file or what is neither a socket nor a URL.
Result<Settings> resolve_settings(const SettingFlags& flags, const Environment& environment);

// "https://gpu1:7443" → host and port; 7443 when it names none. kInvalid on anything else.
Result<net::TcpAddress> parse_url(std::string_view url);
inline constexpr uint16_t kDefaultPort = 7443;

// "$XDG_CONFIG_HOME/tessera", or ~/.config/tessera; empty when there is no home folder either.
std::string config_folder(const Environment& environment);

}  // namespace tessera::client
