#include "client/settings.h"

#include <cstdlib>

#include "api/codec_impl.h"
#include "base/file.h"
#include "client/contexts.h"
#include "wire/yaml.h"

TESSERA_CODEC(tessera::client::ConfigFile)

namespace tessera::client {

Error in_file(const Error& mistake, std::string_view name) {
  return error(mistake.code, cat(name, ": ", mistake.text()));
}

namespace {

// A file of a few lines; anything larger is not ours.
constexpr size_t kConfigLimit = 64 << 10;

Result<ConfigFile> read_config(const std::string& folder) {
  std::string path = folder + "/config.yaml";
  if (folder.empty() || !exists(path)) return ConfigFile{};
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

constexpr std::string_view kUnixScheme = "unix://", kTlsScheme = "https://";

// A URL is used with what the context for it knows.
Status take_server(std::string_view server, const ContextFile& contexts, Settings& out) {
  if (server.starts_with(kTlsScheme)) {
    TRY(net::TcpAddress address, parse_url(server));
    out.host = net::TlsTarget{address, {}};
    for (const SavedContext& context : contexts.contexts)
      if (auto known = parse_url(context.server); known.ok() && *known == address) {
        out.context = context.name;
        out.host->ca_pem = context.ca;
        out.token = context.token;
        break;
      }
    return Ok;
  }
  if (server.starts_with(kUnixScheme)) server.remove_prefix(kUnixScheme.size());
  if (!server.starts_with('/'))
    return error(Code::kInvalid,
                 cat(quoted(server), " is neither the path of a Unix socket nor a URL"), "server",
                 cat("write it like ", kDefaultSocket, " or https://gpu1:", kDefaultPort));
  out.socket = server;
  return Ok;
}

Status take_context(const SavedContext& context, Settings& out) {
  out.context = context.name;
  out.project = context.project;
  if (context.server.starts_with('/')) {
    out.socket = context.server;
  } else {
    TRY(net::TcpAddress address, parse_url(context.server));
    out.host = net::TlsTarget{std::move(address), context.ca};
  }
  out.token = context.token;
  return Ok;
}

Status choose_server(const SettingFlags& flags, const Environment& environment,
                     const ContextFile& contexts, const ConfigFile& file, Settings& out) {
  auto variable = [&](std::string_view name) { return environment(name).value_or(""); };
  std::string host = variable("TESSERA_HOST"), server = variable("TESSERA_SERVER");
  std::string context = variable("TESSERA_CONTEXT");
  if (!flags.server.empty()) return take_server(flags.server, contexts, out);
  if (flags.context.empty() && !(host + server).empty())
    return take_server(first_of({host, server}), contexts, out);
  std::string name = first_of({flags.context, context, contexts.current});
  if (!name.empty()) {
    TRY(const SavedContext* found, contexts.find(name));
    return take_context(*found, out);
  }
  return take_server(first_of({file.server, kDefaultSocket}), contexts, out);
}

}  // namespace

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (!value) return std::nullopt;
    return value;
  };
}

std::string config_folder(const Environment& environment) {
  std::string base = environment("XDG_CONFIG_HOME").value_or("");
  if (!base.starts_with('/')) {  // the XDG specification: a relative path is ignored
    std::string home = environment("HOME").value_or("");
    if (home.empty()) return {};
    base = cat(home, "/.config");
  }
  return cat(base, "/tessera");
}

Result<net::TcpAddress> parse_url(std::string_view url) {
  auto wrong = [&] {
    return error(Code::kInvalid, cat(quoted(url), " is not the URL of a server"), "server",
                 cat("write it like https://gpu1:", kDefaultPort));
  };
  if (!url.starts_with(kTlsScheme)) return wrong();
  std::string rest(url.substr(kTlsScheme.size()));
  if (rest.ends_with('/')) rest.pop_back();
  size_t colon = rest.find_last_of(':');
  bool has_port = colon != std::string::npos && rest.find(']', colon) == std::string::npos;
  auto address = net::parse_tcp_address(has_port ? rest : cat(rest, ":", kDefaultPort));
  if (!address.ok() || address->host.empty() || address->host.find('/') != std::string::npos ||
      address->port == 0)
    return wrong();
  return address;
}

Result<Settings> resolve_settings(const SettingFlags& flags, const Environment& environment) {
  std::string folder = config_folder(environment);
  TRY(ConfigFile file, read_config(folder));
  TRY(ContextFile contexts, read_contexts(folder));
  Settings out;
  TRY_STATUS(choose_server(flags, environment, contexts, file, out));
  if (std::string token = environment("TESSERA_TOKEN").value_or(""); !token.empty())
    out.token = token;
  if (std::string ca = environment("TESSERA_CA").value_or(""); out.host && !ca.empty()) {
    TRY(out.host->ca_pem, read_file(ca, kConfigLimit).in("TESSERA_CA"));
  }
  std::string project = environment("TESSERA_PROJECT").value_or("");
  out.project = first_of({flags.project, project, out.project, file.project});
  out.project_chosen = !out.project.empty();
  if (!out.project_chosen) out.project = kDefaultProject;
  return out;
}

}  // namespace tessera::client
