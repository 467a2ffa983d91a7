#pragma once
// The OCI runtime specification of one attempt: what runc is told to make. Pure: everything about
// the machine comes in.

#include <string>
#include <vector>

#include "accel/cdi_spec.h"
#include "api/value.h"
#include "engine/engine.h"
#include "engine/local/host.h"
#include "engine/local/images/documents.h"
#include "engine/local/users.h"
#include "engine/local/volumes.h"

namespace tessera::local {

struct SpecInput {
  const engine::Launch& launch;
  const ImageConfig& image;
  User user;
  accel::cdi::ContainerEdits edits;  // of exactly the allocated devices
  std::vector<BoundVolume> volumes;
  std::vector<BoundVolume> secrets;  // files
  std::string init_program;          // of the node; mounted where the launch wants an init
  std::string host_name;
  std::string netns_path;  // empty: the node's own network
  std::string cgroups_path;
  std::string etc_folder;  // has this container's hosts, hostname and resolv.conf
  HostLimits host;
};

// Fails, with a sentence for the job's owner, when there is no program to run.
Result<Value> make_spec(const SpecInput& input);

// The first process's argument vector, by docker's rules: a command drops the image's cmd too.
Result<std::vector<std::string>> make_argv(const engine::Launch& launch, const ImageConfig& image);

// Its environment. Last wins: defaults, the image's, the devices', the job's, and then what nobody
// may change (TESSERA_*, NVIDIA_VISIBLE_DEVICES).
std::vector<std::string> make_environment(const SpecInput& input);

// A process beside the first one, as JSON-able spec ("process"): it gets the container's own
// environment and rights.
Value make_exec_process(const Value& container_spec, const engine::ExecRequest& request,
                        const std::optional<User>& user);

using api::make_host_name;

}  // namespace tessera::local
