#include "engine/local/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "base/text.h"
#include "engine/local/names.h"
#include "engine/local/netns.h"
#include "wire/json.h"

namespace tessera::local {

namespace {

using Map = Value::Map;
using List = Value::List;

// Of every Tessera on the machine; the rules against crossing from one network to another name it.
constexpr std::string_view kBridgePrefix = "tsr";
constexpr int kSubnetBits = 24;
// A plugin takes some 50 ms; this is for a machine that is nearly stuck.
constexpr Millis kPluginMs{30'000};

struct Range {
  uint32_t first = 0;  // host byte order
  int bits = 0;
  uint32_t size() const { return bits == 0 ? 0xffffffffu : uint32_t{1} << (32 - bits); }
  bool overlaps(const Range& other) const {
    return first <= other.first + (other.size() - 1) && other.first <= first + (size() - 1);
  }
};

Result<Range> parse_range(const std::string& cidr) {
  auto parts = split(cidr, '/');
  in_addr address{};
  auto bits = parts.size() == 2 ? to_int(parts[1]) : std::nullopt;
  if (!bits || *bits < 8 || *bits > 30 || ::inet_pton(AF_INET, parts[0].c_str(), &address) != 1)
    return error(Code::kInvalid, cat(tessera::quoted(cidr), " is no range of IPv4 addresses"), {},
                 "write it like 10.137.0.0/16");
  uint32_t mask = ~uint32_t{0} << (32 - *bits);
  return Range{::ntohl(address.s_addr) & mask, static_cast<int>(*bits)};
}

std::string text(const Range& range) {
  in_addr address{::htonl(range.first)};
  char buffer[INET_ADDRSTRLEN];
  ::inet_ntop(AF_INET, &address, buffer, sizeof buffer);
  return cat(buffer, "/", range.bits);
}

// What the machine's interfaces have: another Tessera's bridges, docker's, the site's own.
std::vector<Range> ranges_in_use() {
  std::vector<Range> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
    if (!at->ifa_addr || !at->ifa_netmask || at->ifa_addr->sa_family != AF_INET) continue;
    auto address = [](sockaddr* from) {
      return ::ntohl(reinterpret_cast<sockaddr_in*>(from)->sin_addr.s_addr);
    };
    uint32_t mask = address(at->ifa_netmask);
    out.push_back({address(at->ifa_addr) & mask, __builtin_popcount(mask)});
  }
  ::freeifaddrs(all);
  return out;
}

void delete_bridge(const std::string& name) {
  Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  ::ioctl(socket.get(), SIOCSIFFLAGS, &request);  // down: flags are 0
  ::ioctl(socket.get(), SIOCBRDELBR, name.c_str());
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure))
    out.push_back(entry.path().filename());
  return out;
}

}  // namespace

Network::Network(NetworkOptions options)
    : options_(std::move(options)),
      ports_(options_.folder + "/ports"),
      ready_(options_.folder, [this](const std::string& project, const std::string& name) {
        return make_ready(project, name);
      }) {}

std::string Network::netns_path(const std::string& container) const {
  return namespace_path(ready_.name_of(container));
}

std::string Network::namespace_path(const std::string& name) const {
  return cat(options_.folder, "/ns/", name);
}

std::string Network::lease_folder(const Subnet& subnet) const {
  return cat(options_.folder, "/leases/", subnet.bridge);
}

Status Network::start(const std::set<std::string>& live) {
  for (const char* name : {"/ns", "/leases", "/projects"})
    TRY_STATUS(make_directories(options_.folder + name, 0700));
  TRY_STATUS(ready_.start(live));
  std::set<std::string> used;  // names of namespaces
  for (const std::string& container : live) used.insert(ready_.name_of(container));
  if (!options_.bridge) {
    collect_namespaces(used);
    return Ok;
  }
  for (const char* plugin : {"bridge", "host-local"})
    if (!exists(cat(options_.plugins, "/", plugin)))
      return error(Code::kUnavailable,
                   cat("there is no CNI plugin ", plugin, " in ", options_.plugins), {},
                   "install containernetworking-plugins, or start with --network none");
  std::lock_guard guard(mutex_);
  TRY_STATUS(ports_.load(live));
  TRY_STATUS(load_subnets());
  std::vector<std::string> projects;
  for (const auto& [project, subnet] : subnets_) projects.push_back(project);
  for (const std::string& project : projects) {
    collect_leases(project, used);
    used.merge(ready_.names(project));
  }
  collect_namespaces(used);
  return apply_rules();
}

Status Network::load_subnets() {
  for (const std::string& project : files_in(options_.folder + "/projects")) {
    TRY(std::string cidr, read_file(cat(options_.folder, "/projects/", project)));
    subnets_[project] = {std::string(trim(cidr)),
                         private_name(kBridgePrefix, options_.owner, project)};
  }
  return Ok;
}

void Network::collect_namespaces(const std::set<std::string>& used) const {
  for (const std::string& name : files_in(options_.folder + "/ns"))
    if (!used.contains(name)) (void)remove_netns(namespace_path(name));
}

// Leases are files named by address that begin with the name of a namespace; the plugin's own files
// among them (lock, last_reserved_ip.0) are no addresses. A project without a container loses its
// network, and what is ready for it.
void Network::collect_leases(const std::string& project, const std::set<std::string>& used) {
  const Subnet subnet = subnets_[project];
  std::map<std::string, std::string> leases;  // name -> address
  bool in_use = false;
  for (const std::string& address : files_in(lease_folder(subnet))) {
    in_addr parsed{};
    if (::inet_pton(AF_INET, address.c_str(), &parsed) != 1) continue;
    auto lease = read_file(cat(lease_folder(subnet), "/", address));
    std::string name = lease.ok() ? std::string(trim(split(*lease, '\n')[0])) : "";
    leases[name] = address;
    in_use = in_use || used.contains(name);
  }
  if (!in_use) ready_.drop(project);
  std::set<std::string> ready = ready_.names(project);
  for (const auto& [name, address] : leases) {
    if (used.contains(name) || ready.contains(name)) continue;
    auto gone = call_plugin("DEL", subnet, name);
    if (!gone.ok()) log::warn(cat("cannot release address ", address, ": ", gone.error().text()));
  }
  if (in_use) return;
  delete_bridge(subnet.bridge);
  std::error_code failure;
  std::filesystem::remove_all(lease_folder(subnet), failure);
  std::filesystem::remove(cat(options_.folder, "/projects/", project), failure);
  subnets_.erase(project);
}

Result<std::string> Network::choose_subnet() const {
  TRY(Range pool, parse_range(options_.pool));
  std::vector<Range> taken = ranges_in_use();
  for (const auto& [project, subnet] : subnets_) {
    TRY(Range range, parse_range(subnet.cidr));
    taken.push_back(range);
  }
  uint32_t count = pool.bits >= kSubnetBits ? 1 : uint32_t{1} << (kSubnetBits - pool.bits);
  // Each Tessera begins somewhere else, so that two that choose at the same moment choose
  // differently.
  auto begin = static_cast<uint32_t>(name_hash(options_.owner) % count);
  for (uint32_t i = 0; i < count; ++i) {
    Range range{pool.first + (begin + i) % count * (uint32_t{1} << (32 - kSubnetBits)),
                std::max(kSubnetBits, pool.bits)};
    bool free = true;
    for (const Range& other : taken) free = free && !range.overlaps(other);
    if (free) return text(range);
  }
  return error(Code::kExhausted,
               cat("no subnet is left in ", options_.pool, " for another project's network"), {},
               "give a larger range with --network-pool");
}

// The project's subnet; a new one is on disk, and in the machine's rules, before it is used.
Result<Network::Subnet> Network::subnet_of(const std::string& project) {
  std::lock_guard guard(mutex_);
  auto known = subnets_.find(project);
  if (known != subnets_.end()) return known->second;
  TRY(std::string cidr, choose_subnet());
  TRY_STATUS(write_file(cat(options_.folder, "/projects/", project), cidr));
  Subnet subnet{cidr, private_name(kBridgePrefix, options_.owner, project)};
  subnets_[project] = subnet;
  Status applied = apply_rules();
  if (applied.ok()) return subnet;
  subnets_.erase(project);  // so that the next container tries again
  return std::move(applied).error();
}

// One table that is replaced as a whole: what a project sends to the bridge of another is dropped,
// what it sends out of the machine carries the machine's address, and published ports lead to their
// containers. Who comes through the machine's loopback to such a port, or from a container to its
// own, gets the bridge's address, for the answer would not come back otherwise; nobody else may
// reach the loopback through a bridge (route_localnet, see publish()).
Status Network::apply_rules() const {
  std::string table = private_name("tessera_", options_.owner, {});
  std::string forward, leave, guard;
  for (const auto& [project, subnet] : subnets_) {
    forward += cat("    iifname \"", subnet.bridge, "\" oifname != \"", subnet.bridge,
                   "\" oifname \"", kBridgePrefix, "*\" drop\n");
    leave += cat("    ip saddr ", subnet.cidr, " oifname != \"", subnet.bridge, "\" masquerade\n",
                 "    ip saddr { 127.0.0.0/8, ", subnet.cidr, " } oifname \"", subnet.bridge,
                 "\" ct status dnat masquerade\n");
    guard += cat("    iifname \"", subnet.bridge, "\" ip daddr 127.0.0.0/8 drop\n");
  }
  auto chain = [](std::string_view name, std::string_view hook, const std::string& rules) {
    return cat("  chain ", name, " {\n    type ", hook, ";\n", rules, "  }\n");
  };
  std::string script =
      cat("add table inet ", table, "\ndelete table inet ", table, "\ntable inet ", table, " {\n",
          chain("guard", "filter hook prerouting priority -300", guard),
          chain("forward", "filter hook forward priority 0", forward),
          chain("publish", "nat hook prerouting priority -100", ports_.incoming_rules()),
          chain("publish_local", "nat hook output priority -100", ports_.local_rules()),
          chain("leave", "nat hook postrouting priority 100", leave), "}\n");
  constexpr std::string_view kHint = "install nftables, or start with --network none";
  auto done = run_program({.argv = {"nft", "-f", "-"}, .input = script, .deadline = kPluginMs});
  if (!done.ok())
    return error(Code::kUnavailable,
                 cat("the projects' networks cannot be kept apart: ", done.error().message), {},
                 std::string(kHint));
  if (done->exit_code != 0)
    return error(Code::kUnavailable,
                 cat("the projects' networks cannot be kept apart: nft: ", trim(done->err)), {},
                 std::string(kHint));
  return Ok;
}

Value Network::plugin_config(const Subnet& subnet) const {
  Value ipam = Map{{"type", "host-local"},
                   {"dataDir", options_.folder + "/leases"},
                   {"ranges", List{List{Map{{"subnet", subnet.cidr}}}}},
                   {"routes", List{Map{{"dst", "0.0.0.0/0"}}}}};
  return Map{{"cniVersion", "0.4.0"},   {"name", subnet.bridge}, {"type", "bridge"},
             {"bridge", subnet.bridge}, {"isGateway", true},     {"hairpinMode", false},
             {"ipam", std::move(ipam)}};
}

Result<Value> Network::call_plugin(const char* command, const Subnet& subnet,
                                   const std::string& name) const {
  std::string netns = namespace_path(name);
  bool there = exists(netns);
  TRY(ProgramOutput done, run_program({.argv = {options_.plugins + "/bridge"},
                                       .env = {{"CNI_COMMAND", command},
                                               {"CNI_CONTAINERID", name},
                                               {"CNI_NETNS", there ? netns : ""},
                                               {"CNI_IFNAME", "eth0"},
                                               {"CNI_PATH", options_.plugins}},
                                       .input = wire::to_json(plugin_config(subnet)),
                                       .deadline = kPluginMs}));
  auto said = wire::parse_json(done.out);
  if (done.exit_code == 0) return said.ok() ? *said : Value();
  std::string why = said.ok() ? said->text("msg") : std::string(trim(done.err + done.out));
  return error(Code::kUnavailable, cat("the network plugin failed: ", why));
}

Status Network::create_namespace(const std::string& project, const std::string& container,
                                 bool connected) {
  if (options_.bridge && connected && ready_.take(project, container)) return Ok;
  TRY_STATUS(remove_netns(namespace_path(container)));
  return create_netns(namespace_path(container));
}

Result<std::vector<api::Port>> Network::reserve_ports(const std::string& container,
                                                      const std::vector<api::Port>& wanted) {
  if (!options_.bridge && !wanted.empty())
    return error(Code::kInvalid,
                 "ports cannot be published: this node's containers have no network");
  std::lock_guard guard(mutex_);
  return ports_.reserve(container, wanted);
}

std::vector<api::Port> Network::published(const std::string& container) {
  std::lock_guard guard(mutex_);
  return ports_.of(container);
}

Status Network::publish(const std::string& project, const std::string& container,
                        const std::string& address) {
  TRY(Subnet subnet, subnet_of(project));
  std::lock_guard guard(mutex_);
  TRY(bool any, ports_.lead_to(container, address));
  if (!any) return Ok;
  // Else the kernel drops what comes from the loopback and leaves through the bridge.
  std::string path = cat("/proc/sys/net/ipv4/conf/", subnet.bridge, "/route_localnet");
  TRY_STATUS(append_file(path, "1"));
  return apply_rules();
}

Result<std::string> Network::attach(const std::string& project, const std::string& container) {
  if (!options_.bridge) return std::string();
  auto ready = ready_.address_of(container);
  TRY(std::string address, ready ? Result<std::string>(*ready) : connect(project, container));
  TRY_STATUS(publish(project, container, address));
  return address;
}

void Network::top_up(const std::string& project) {
  if (options_.bridge) ready_.top_up(project);
}

Result<std::string> Network::connect(const std::string& project, const std::string& name) {
  TRY(Subnet subnet, subnet_of(project));
  TRY(Value result, call_plugin("ADD", subnet, name));
  const Value* addresses = result.find("ips");
  std::string address;
  if (addresses && addresses->list() && !addresses->list()->empty())
    address = addresses->list()->front().text("address");
  return address.substr(0, address.find('/'));
}

Result<std::string> Network::make_ready(const std::string& project, const std::string& name) {
  TRY_STATUS(create_netns(namespace_path(name)));
  auto address = connect(project, name);
  if (!address.ok()) (void)remove_netns(namespace_path(name));
  return address;
}

Status Network::detach(const std::string& project, const std::string& container) {
  std::optional<Subnet> subnet;
  Status released = Ok;
  {
    std::lock_guard guard(mutex_);
    auto known = subnets_.find(project);
    if (known != subnets_.end()) subnet = known->second;
    if (ports_.release(container)) released = apply_rules();
  }
  const std::string name = ready_.name_of(container);
  if (subnet)
    if (auto done = call_plugin("DEL", *subnet, name); !done.ok()) released = done.error();
  TRY_STATUS(remove_netns(namespace_path(name)));
  TRY_STATUS(released);
  ready_.forget(container);
  return Ok;
}

std::string Network::describe() const {
  return options_.bridge ? std::string()
                         : "containers have no network (started with --network none)";
}

}  // namespace tessera::local
