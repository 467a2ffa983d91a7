#pragma once
// What containerd keeps, as plain structs: the generated messages stay inside this folder.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace tessera::local {

using Labels = std::map<std::string, std::string>;

// Points at a blob: OCI's descriptor.
struct Descriptor {
  std::string media_type;
  std::string digest;  // "sha256:<hex>"
  int64_t size = 0;    // bytes
  bool operator==(const Descriptor&) const = default;
};

struct Mount {
  std::string type, source, target;
  std::vector<std::string> options;
  bool operator==(const Mount&) const = default;
};

struct ContentInfo {
  std::string digest;
  int64_t size = 0;  // bytes
  Labels labels;
  Instant created;
};

enum class SnapshotKind { kUnknown, kView, kActive, kCommitted };

struct SnapshotInfo {
  std::string name;
  std::string parent;
  SnapshotKind kind = SnapshotKind::kUnknown;
  Labels labels;
  Instant created;
};

struct ImageRecord {
  std::string name;  // normalised reference
  Descriptor target;
  Labels labels;
  Instant created, updated;
};

// How the shim calls runc, or a program like it.
struct RuncOptions {
  std::string binary;  // empty: runc
  std::string root;    // runc's state; empty: /run/containerd/runc, shared by all containerds here
  bool systemd_cgroup = false;
  uint32_t io_uid = 0, io_gid = 0;  // owner of the pipes between shim and container
  bool operator==(const RuncOptions&) const = default;
};

struct ContainerRecord {
  std::string id;
  std::string image;
  Labels labels;
  std::string runtime = "io.containerd.runc.v2";
  RuncOptions runc;
  std::string spec_json;  // OCI runtime spec
  std::string snapshotter;
  std::string snapshot_key;
  Instant created;
};

// Where a process reads and writes. Paths of FIFOs, or for out and err also file:///path and
// binary:///path?arg=value (a program that the shim starts). Set out and err both, or neither. With
// a terminal, err stays empty.
struct Stdio {
  std::string in, out, err;
  bool terminal = false;
};

enum class TaskState { kUnknown, kCreated, kRunning, kStopped, kPaused, kPausing };

struct TaskInfo {
  std::string container;
  std::string exec;  // empty: the container's first process
  uint32_t pid = 0;
  TaskState state = TaskState::kUnknown;
  uint32_t exit_code = 0;  // kStopped: 128 + signal when a signal ended it
  Instant exited;          // kStopped
  Stdio stdio;
};

struct Exit {
  uint32_t code = 0;  // 128 + signal when a signal ended it
  Instant at;
};

}  // namespace tessera::local
