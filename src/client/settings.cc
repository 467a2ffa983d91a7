#include "client/settings.h"

#include <cstdlib>

#include "api/codec_impl.h"
#include "base/file.h"
#include "client/file_error.h"
#include "wire/yaml.h"

TESSERA_CODEC(tessera::client::ConfigFile)

namespace tessera::client {

Error in_file(const Error& mistake, std::string_view name) {
  return error(mistake.code, cat(name, ": ", mistake.text()));
}

namespace {

// A file of a few lines; anything larger is not ours.
constexpr size_t kConfigLimit = 64 << 10;

std::string config_path(const Environment& environment) {
  std::string base = environment("XDG_CONFIG_HOME").value_or("");
  if (!base.starts_with('/')) {  // the XDG specification: a relative path is ignored
    std::string home = environment("HOME").value_or("");
    if (home.empty()) return {};
    base = cat(home, "/.config");
  }
  return cat(base, "/tessera/config.yaml");
}

Result<ConfigFile> read_config(const std::string& path) {
  if (path.empty() || !exists(path)) return ConfigFile{};
  TRY(std::string text, read_file(path, kConfigLimit));
  auto document = wire::parse_yaml(text);
  if (!document.ok()) return in_file(document.error(), path);
  if (document->is_null()) return ConfigFile{};
  auto file = schema::decode<ConfigFile>(*document);
  if (!file.ok()) return in_file(file.error(), path);
  return file;
}

std::string first_of(std::initializer_list<std::string_view> texts) {
  for (std::string_view text : texts)
    if (!text.empty()) return std::string(text);
  return {};
}

Result<std::string> socket_path(std::string server) {
  constexpr std::string_view kScheme = "unix://";
  if (server.starts_with(kScheme)) server.erase(0, kScheme.size());
  if (server.starts_with('/')) return server;
  return error(Code::kInvalid, cat(quoted(server), " is not the path of a Unix socket"), "server",
               cat("write it like ", kDefaultSocket));
}

}  // namespace

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (!value) return std::nullopt;
    return value;
  };
}

Result<Settings> resolve_settings(std::string_view server_flag, std::string_view project_flag,
                                  const Environment& environment) {
  TRY(ConfigFile file, read_config(config_path(environment)));
  std::string server = environment("TESSERA_SERVER").value_or("");
  std::string project = environment("TESSERA_PROJECT").value_or("");
  Settings out;
  TRY(out.socket, socket_path(first_of({server_flag, server, file.server, kDefaultSocket})));
  out.project = first_of({project_flag, project, file.project});
  out.project_chosen = !out.project.empty();
  if (!out.project_chosen) out.project = kDefaultProject;
  return out;
}

}  // namespace tessera::client
