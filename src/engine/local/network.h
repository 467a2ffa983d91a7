#pragma once
// One bridge network for each project, apart from all others: addresses from a subnet of its own,
// a way out through the machine, no way to another project's containers. CNI's plugins do the work
// for a container, nftables the rest.
//
// All of it has names that come from the data folder, so two Tesseras on one machine never meet.
// What is on disk is written before it is used and what is left over is collected at start: there
// is no shutdown to forget.

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/value.h"
#include "base/result.h"
#include "base/units.h"
#include "engine/local/published_ports.h"
#include "engine/local/ready_networks.h"

namespace tessera::local {

struct NetworkOptions {
  std::string folder;  // for namespaces, leases and the projects' subnets
  std::string owner;   // the data folder: names are derived from it
  bool bridge = true;  // false: containers have their loopback and nothing else
  // 256 projects of 253 containers; a /16 of 10.0.0.0/8 that few sites use.
  std::string pool = "10.137.0.0/16";
  std::string plugins = "/usr/lib/cni";
};

// Owned by the engine; methods may be called on any thread, for different containers at once.
class Network {
 public:
  explicit Network(NetworkOptions options);

  // Removes what is left of containers that are not in `live`, and of projects without any; then
  // puts the machine's rules in force.
  Status start(const std::set<std::string>& live);

  std::string netns_path(const std::string& container) const;
  // A namespace of the container's own: one that is connected already, where one is ready, else one
  // with its loopback only; always that unless it is to be `connected`. Made anew when there is one
  // already.
  Status create_namespace(const std::string& project, const std::string& container,
                          bool connected = true);
  // Takes ports of the machine for a container that attach() is then called for. Refused without a
  // bridge.
  Result<std::vector<api::Port>> reserve_ports(const std::string& container,
                                               const std::vector<api::Port>& wanted);
  std::vector<api::Port> published(const std::string& container);
  // Connects the namespace to the project's network, and the reserved ports to it: the address it
  // got, empty without a bridge.
  Result<std::string> attach(const std::string& project, const std::string& container);
  // After a start, so that the next one of this project finds a namespace ready.
  void top_up(const std::string& project);
  // Undoes both; Ok when there is nothing.
  Status detach(const std::string& project, const std::string& container);

  std::string describe() const;  // for the node's message; empty when all is as it should be

 private:
  struct Subnet {
    std::string cidr;
    std::string bridge;
  };
  Result<Subnet> subnet_of(const std::string& project);
  Result<std::string> choose_subnet() const;
  Status load_subnets();
  void collect_leases(const std::string& project, const std::set<std::string>& used);
  void collect_namespaces(const std::set<std::string>& used) const;
  std::string namespace_path(const std::string& name) const;
  Result<std::string> connect(const std::string& project, const std::string& name);
  Result<std::string> make_ready(const std::string& project, const std::string& name);
  Status apply_rules() const;
  Status publish(const std::string& project, const std::string& container,
                 const std::string& address);
  Value plugin_config(const Subnet& subnet) const;
  Result<Value> call_plugin(const char* command, const Subnet& subnet,
                            const std::string& name) const;
  std::string lease_folder(const Subnet& subnet) const;

  const NetworkOptions options_;
  std::mutex mutex_;
  std::map<std::string, Subnet> subnets_;  // by project
  PublishedPorts ports_;
  ReadyNetworks ready_;  // last: its thread uses the others
};

}  // namespace tessera::local
