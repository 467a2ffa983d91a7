#pragma once
// What the parts of the local engine share: the machine, its containerd, where things lie. Made
// once by the engine, which outlives the parts.

#include <set>
#include <string>

#include "engine/local/bundles.h"
#include "engine/local/cgroup.h"
#include "engine/local/containerd/containerd.h"
#include "engine/local/host.h"
#include "engine/local/images/image_store.h"
#include "engine/local/local_engine.h"
#include "engine/local/network.h"
#include "engine/local/task_table.h"

namespace tessera::local {

// Labels of our containers: all that a new engine needs to take them over.
inline constexpr std::string_view kTaskLabel = "tessera.dev/task";
inline constexpr std::string_view kAttemptLabel = "tessera.dev/attempt";
inline constexpr std::string_view kProjectLabel = "tessera.dev/project";
inline constexpr std::string_view kJobLabel = "tessera.dev/job";
inline constexpr std::string_view kStopSignalLabel = "tessera.dev/stop-signal";
inline constexpr std::string_view kStdinLabel = "tessera.dev/stdin";
inline constexpr std::string_view kInitLabel = "tessera.dev/init";
// Set when it has ended, before its task is deleted: so the exit code outlives everything.
inline constexpr std::string_view kExitLabel = "tessera.dev/exit";
inline constexpr std::string_view kOomLabel = "tessera.dev/oom";
inline constexpr std::string_view kExitTimeLabel = "tessera.dev/exit-time";  // ms since the epoch

struct Machine {
  explicit Machine(LocalOptions wanted);

  std::string folder() const { return options.data_folder + "/engine"; }
  std::string state_folder(const std::string& container) const;
  std::string stdin_path(const std::string& container) const;
  std::string output_path(const std::string& container, std::string_view stream) const;
  std::string task_log_folder(const std::string& task) const;
  std::string log_folder(const TaskRef& ref) const;
  std::string cgroup_for_runc(const std::string& container) const;
  Cgroup cgroup(const std::string& container) const;
  std::string cgroup_prefix() const;
  RuncOptions runc() const;

  const LocalOptions options;
  ContainerdProcess daemon;
  Containerd client;
  Bundles bundles;
  ImageStore images;
  Network network;
  HostLimits host;  // set by the engine's start()
  TaskTable tasks;
};

}  // namespace tessera::local
