#pragma once
// The engine of one machine: containerd and runc, each container with limits, its project's network
// and exactly its devices. Containers and their logs outlive this process and containerd: a new
// engine on the same data folder finds them again.
//
//   <data>/containerd   images and snapshots
//   <data>/engine/logs  <task>/<attempt>/: log_format.h
//   <data>/engine/net   subnets, leases, network namespaces
//   <data>/engine/state <container>/: files that are mounted into it, its input pipe

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/local/containerd/containerd_process.h"
#include "engine/local/log/log_format.h"

namespace tessera::local {

struct LocalOptions {
  std::string data_folder;
  std::string run_folder = "/run/tessera";  // sockets; short, and best on a tmpfs
  // The program tessera-log-writer: run by containerd's shim for each container (log_writer.h).
  std::string log_writer = "/usr/bin/tessera-log-writer";

  std::string node_name;  // the host name when empty
  std::string runc = "runc";
  std::string init = "/usr/bin/tini-static";  // mounted into containers that want an init
  std::string snapshotter;                    // picked by trying when empty
  std::vector<std::string> insecure_registries;
  // Where to find CDI specs besides /etc/cdi and /var/run/cdi: Provider::cdi_folders().
  std::vector<std::string> cdi_folders;

  bool bridge_network = true;  // false: containers have their loopback and nothing else
  std::string network_pool = "10.137.0.0/16";
  std::string cni_plugins = "/usr/lib/cni";
  std::vector<std::string> name_servers;  // the machine's when empty

  LogLimits log_limits;
  ContainerdOptions containerd;  // its folders: under the two above when empty
};

std::unique_ptr<engine::Engine> make_local_engine(LocalOptions options);

}  // namespace tessera::local
