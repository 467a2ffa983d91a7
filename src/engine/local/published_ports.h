#pragma once
// Ports of containers on the machine's addresses: which are taken, and the firewall's rules for
// them.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/container.h"
#include "base/file.h"
#include "base/result.h"

namespace tessera::local {

// Not thread-safe: guarded by the network's mutex. What is published is kept in a folder, a file
// for each container, so that it outlives this process as the containers do.
class PublishedPorts {
 public:
  explicit PublishedPorts(std::string folder) : folder_(std::move(folder)) {}

  // Takes over those of `live` containers, forgets all others.
  Status load(const std::set<std::string>& live);

  // Takes the ports of the machine that a container wants; it picks where none is named. The
  // sockets are held, so that no program of the machine takes a port that would then be shadowed.
  Result<std::vector<api::Port>> reserve(const std::string& container,
                                         std::vector<api::Port> wanted);
  // From now on they lead to this address; false when it has reserved none.
  Result<bool> lead_to(const std::string& container, const std::string& address);
  // False when there were none.
  bool release(const std::string& container);
  std::vector<api::Port> of(const std::string& container) const;

  // Rules of nft: for packets that come to the machine, and for those that it sends itself.
  std::string incoming_rules() const { return rules(/*local=*/false); }
  std::string local_rules() const { return rules(/*local=*/true); }

 private:
  struct Entry {
    std::vector<api::Port> ports;
    std::string address;  // of the container; empty: not yet known
    std::vector<Fd> sockets;
  };
  std::string rules(bool local) const;
  std::string path_of(const std::string& container) const;

  const std::string folder_;
  std::map<std::string, Entry> entries_;
};

// "127.0.0.1:8888->80/tcp", as docker ps has it.
std::string to_text(const api::Port& port);

}  // namespace tessera::local
