#include "apps/server_command.h"

#include <grp.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "accel/nvidia/probe.h"
#include "accel/providers/providers.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "client/settings.h"
#include "engine/local/local_engine.h"
#include "engine/sim/sim_engine.h"
#include "server/server.h"
#include "wire/json.h"
#include "wire/openapi.h"

namespace tessera::apps {

namespace {

std::vector<cli::Flag> server_flags() {
  return {
      {.name = "data",
       .value = "FOLDER",
       .doc = cat("Where everything is kept; ", kDefaultData, " when not given.")},
      {.name = "socket",
       .value = "PATH",
       .doc = cat("Unix socket to listen on; ", client::kDefaultSocket,
                  " when not given. Other sockets of the server lie beside it.")},
      {.name = "socket-group",
       .value = "GROUP",
       .doc = "Group whose members may use the server, as admins. Only root when not given."},
      {.name = "socket-users",
       .doc = "Let every local account use the socket, as the Tessera user of the same name."},
      {.name = "listen",
       .value = "HOST:PORT",
       .doc = "Listen on TCP, with TLS and tokens; :7443 for all addresses. May be given several "
              "times.",
       .many = true},
      {.name = "tls-name",
       .value = "NAME",
       .doc = "Another name or address under which clients reach this server, for its "
              "certificate. The host's own are known.",
       .many = true},
      {.name = "engine",
       .value = "ENGINE",
       .doc = "What runs containers: local is containerd on this machine, sim only pretends.",
       .choices = {"local", "sim"}},
      {.name = "sim",
       .value = "FILE",
       .doc = "Simulated accelerators, from a YAML file; see docs/simulated-accelerators.md."},
      {.name = "node-name",
       .value = "NAME",
       .doc = "Name of this node; the host name when not given."},
      {.name = "network",
       .value = "KIND",
       .doc = "bridge gives each project a network; none leaves containers with their loopback.",
       .choices = {"bridge", "none"}},
      {.name = "network-pool",
       .value = "CIDR",
       .doc = "Addresses from which projects get their networks."},
      {.name = "insecure-registry",
       .value = "HOST",
       .doc = "Registry to talk plain HTTP to; those on this machine always are.",
       .many = true},
      {.name = "packing",
       .value = "POLICY",
       .doc =
           "fragmentation (the default) leaves the fewest accelerators useless for the jobs that "
           "usually come, pack fills nodes one after the other, spread evens them out.",
       .choices = {"fragmentation", "pack", "spread"}},
      {.name = "preempt-after",
       .value = "TIME",
       .doc = "What has run for less gives way to no job of higher priority; 5m when not given."},
      {.name = "preempt-most",
       .value = "N",
       .doc = "Most tasks that are on their way out at a time because they give way; 64 when not "
              "given, 0: none ever."},
      {.name = "nvml", .value = "PATH", .doc = "NVML library; libnvidia-ml.so.1 when not given."},
      {.name = "log-level",
       .value = "LEVEL",
       .doc = "How much to log.",
       .choices = {"debug", "info", "warn", "error"}},
  };
}

sched::Placement placement_of(std::string_view word) {
  if (word == "pack") return sched::Placement::kPack;
  if (word == "spread") return sched::Placement::kSpread;
  return sched::Placement::kFragmentation;
}

Result<sched::Policy> read_policy(const cli::Args& args) {
  sched::Policy policy;
  policy.placement = placement_of(args.text("packing"));
  if (args.has("preempt-after")) {
    TRY(policy.preempt_after, parse_duration(args.text("preempt-after")).in("--preempt-after"));
  }
  if (args.has("preempt-most")) {
    std::optional<int64_t> most = to_int(args.text("preempt-most"));
    if (!most || *most < 0)
      return error(Code::kInvalid, "is no number of tasks", "--preempt-most", "0 or more");
    policy.preempt_most = *most;
  }
  return policy;
}

std::string folder_of(const std::string& path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(1, slash));
}

// Where this program lies, and its helper beside it.
std::string own_folder() {
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return folder_of(std::string(path, static_cast<size_t>(std::max<ssize_t>(length, 0))));
}

void set_log_level(const std::string& name) {
  using log::Level;
  static constexpr std::pair<std::string_view, Level> kLevels[] = {{"debug", Level::kDebug},
                                                                   {"info", Level::kInfo},
                                                                   {"warn", Level::kWarn},
                                                                   {"error", Level::kError}};
  for (const auto& [known, level] : kLevels)
    if (known == name) log::set_level(level);
}

std::unique_ptr<engine::Engine> make_engine(
    const cli::Args& args, const std::string& data, const std::string& socket,
    const std::vector<std::unique_ptr<accel::Provider>>& providers) {
  if (args.text("engine", "local") == "sim") {
    engine::SimOptions options;
    options.real_time = true;
    options.start = wall_now();
    options.node = args.text("node-name", "sim");
    return std::make_unique<engine::SimEngine>(engine::SimWorld(options));
  }
  local::LocalOptions options;
  options.data_folder = data;
  options.run_folder = folder_of(socket);
  options.log_writer = own_folder() + "/tessera-log-writer";
  options.node_name = args.text("node-name");
  options.insecure_registries = args.all("insecure-registry");
  options.bridge_network = args.text("network", "bridge") == "bridge";
  options.network_pool = args.text("network-pool", options.network_pool);
  for (const auto& provider : providers)
    for (std::string& folder : provider->cdi_folders())
      options.cdi_folders.push_back(std::move(folder));
  return local::make_local_engine(std::move(options));
}

Result<net::UnixSocketMode> socket_mode(const std::string& group, bool everyone) {
  unsigned mode = everyone ? 0666 : group.empty() ? 0600 : 0660;
  if (group.empty()) return net::UnixSocketMode{.mode = mode, .gid = std::nullopt};
  const struct group* found = ::getgrnam(group.c_str());
  if (!found)
    return error(Code::kInvalid, cat("there is no group ", quoted(group)), "--socket-group");
  return net::UnixSocketMode{.mode = mode, .gid = found->gr_gid};
}

Status read_tls_flags(const cli::Args& args, server::ServerOptions& options) {
  for (const std::string& text : args.all("listen")) {
    auto address = net::parse_tcp_address(text);
    if (!address.ok())
      return error(Code::kInvalid, address.error().message, "--listen", address.error().hint);
    options.listen.push_back(std::move(*address));
  }
  options.tls_names = args.all("tls-name");
  if (options.listen.empty() && !options.tls_names.empty())
    return error(Code::kInvalid, "has no meaning without --listen", "--tls-name");
  for (const std::string& name : options.tls_names)
    if (name.empty() || lower(name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.:*") !=
                            std::string::npos)
      return error(Code::kInvalid, cat(quoted(name), " is no host name or address"), "--tls-name");
  return Ok;
}

// Blocks the signals that end the server, in this and all later threads.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return signals;
}

// Each follower of a log holds several descriptors, and many systems give a process 1,024 unless it
// asks for more.
void raise_descriptor_limit() {
  constexpr rlim_t kWanted = 65'536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kWanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, kWanted);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    log::warn(cat("the limit of open files stays low: ", std::strerror(errno)));
}

// A long history is millions of small objects: the heap grows in large steps, of which what is not
// touched takes no memory. The threshold too, since glibc stops raising it by itself once the other
// is set.
void grow_heap_in_steps() {
  ::mallopt(M_TOP_PAD, 64 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
}

Result<int> serve(cli::Context&, const cli::Args& args) {
  raise_descriptor_limit();
  grow_heap_in_steps();
  set_log_level(args.text("log-level", "info"));
  sigset_t signals = block_signals();
  std::string data = args.text("data", kDefaultData);
  std::string socket = args.text("socket", client::kDefaultSocket);
  bool pretend = args.text("engine", "local") == "sim";
  if (!pretend && ::geteuid() != 0)
    return error(Code::kPermissionDenied, "the server must run as root to run containers", {},
                 "use sudo, or --engine sim to look around");

  server::ServerOptions options;
  options.version = TESSERA_VERSION;
  options.data_folder = data;
  options.socket_path = socket;
  TRY(options.socket_mode, socket_mode(args.text("socket-group"), args.has("socket-users")));
  TRY_STATUS(read_tls_flags(args, options));
  options.openapi = wire::to_json(wire::openapi_document(TESSERA_VERSION));
  TRY(options.policy, read_policy(args));
  TRY_STATUS(make_directories(data, 0711));
  TRY_STATUS(make_directories(folder_of(socket), 0711));

  auto providers = accel::make_providers({.data_folder = data,
                                          .sim_file = args.text("sim"),
                                          .nvml_library = args.text("nvml"),
                                          .nvml_probe = {},
                                          .host_root = {}});
  auto engine = make_engine(args, data, socket, providers);
  if (!args.text("sim").empty())
    log::warn(
        cat("SIMULATED accelerators from ", args.text("sim"), ": no hardware is behind them"));
  if (pretend) log::warn("SIMULATED engine: no container runs, jobs only pretend to");
  server::Server server(std::move(options), std::move(engine), std::move(providers));
  TRY_STATUS(server.start());
  log::info(cat("Tessera ", TESSERA_VERSION, " listens at ", socket));

  int signal = 0;
  ::sigwait(&signals, &signal);
  log::info(cat("stopping on ", ::strsignal(signal), "; containers go on"));
  server.stop();
  return 0;
}

}  // namespace

cli::Command server_command() {
  return {
      .name = "server",
      .doc = "Run the server.",
      .details =
          "Takes jobs, places them on accelerators and runs them in containers. It may be stopped, "
          "killed and started again at any time: containers go on, and nothing that was accepted "
          "is lost.",
      .flags = server_flags(),
      .run = serve,
      .connects = false};
}

cli::Command probe_nvml_command() {
  return {.name = "probe-nvml",
          .doc = "Try whether NVML can be loaded (started by the server).",
          .run = [](cli::Context&, const cli::Args& args) -> Result<int> {
            return accel::nvidia::probe_main(args.operands.back());
          },
          .least = 1,
          .most = 1,
          .connects = false,
          .hidden = true};
}

}  // namespace tessera::apps
