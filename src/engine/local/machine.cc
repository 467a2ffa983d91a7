#include "engine/local/machine.h"

#include "base/text.h"
#include "engine/local/containerd/snapshotter.h"
#include "engine/local/names.h"

namespace tessera::local {

namespace {

LocalOptions completed(LocalOptions options) {
  if (options.containerd.data_folder.empty())
    options.containerd.data_folder = options.data_folder + "/containerd";
  if (options.containerd.run_folder.empty())
    options.containerd.run_folder = options.run_folder + "/containerd";
  if (options.snapshotter.empty()) {
    auto picked = pick_snapshotter(options.containerd.data_folder + "/root");
    // A folder that cannot be written is what containerd's start will fail with, too.
    options.snapshotter = picked.ok() ? *picked : "overlayfs";
  }
  return options;
}

}  // namespace

Machine::Machine(LocalOptions wanted)
    : options(completed(std::move(wanted))),
      daemon(options.containerd),
      client(Containerd::connect(daemon.socket())),
      bundles({.socket = daemon.socket(),
               .state = options.containerd.run_folder + "/state",
               .root = daemon.root(),
               .runc = runc().root}),
      images(client, {.work_folder = folder() + "/images",
                      .storage_folder = daemon.root(),
                      .snapshotter = options.snapshotter,
                      .insecure_registries = options.insecure_registries}),
      network({.folder = folder() + "/net",
               .owner = options.data_folder,
               .bridge = options.bridge_network,
               .pool = options.network_pool,
               .plugins = options.cni_plugins}) {}

std::string Machine::state_folder(const std::string& container) const {
  return cat(folder(), "/state/", container);
}
std::string Machine::stdin_path(const std::string& container) const {
  return state_folder(container) + "/stdin";
}
std::string Machine::output_path(const std::string& container, std::string_view stream) const {
  return cat(state_folder(container), "/", stream);
}
std::string Machine::task_log_folder(const std::string& task) const {
  return cat(folder(), "/logs/", task);
}
std::string Machine::log_folder(const TaskRef& ref) const {
  return cat(task_log_folder(ref.task), "/", ref.attempt);
}
std::string Machine::cgroup_for_runc(const std::string& container) const {
  return local::cgroup_for_runc(host.cgroups.driver,
                                private_name("tessera-", options.data_folder, {}), container);
}
Cgroup Machine::cgroup(const std::string& container) const {
  std::string owner = private_name("tessera-", options.data_folder, {});
  return {cgroup_path(host.cgroups.driver, owner, container), host.cgroups.v2()};
}
std::string Machine::cgroup_prefix() const {
  return local::cgroup_prefix(host.cgroups.driver,
                              private_name("tessera-", options.data_folder, {}));
}
RuncOptions Machine::runc() const {
  return {.binary = options.runc,
          .root = options.run_folder + "/runc",
          .systemd_cgroup = host.cgroups.driver == CgroupDriver::kSystemd};
}

}  // namespace tessera::local
