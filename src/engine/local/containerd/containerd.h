#pragma once
// The client of one containerd, in one of its namespaces. Calls block under a deadline and may be
// made from any thread; a daemon that is restarting is waited for a moment. Errors: kUnavailable
// when it does not answer, kTimeout past the deadline, kNotFound, kAlreadyExists, kConflict (the
// state forbids it) and kExhausted (no space left) as containerd says.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "engine/local/containerd/types.h"

namespace tessera::local {

class Connection;
class Lease;

inline constexpr std::string_view kNamespace = "tessera";

// A handle: copies share the connection.
class Containerd {
 public:
  // Does no I/O yet: the first call connects.
  static Containerd connect(const std::string& socket, std::string_view ns = kNamespace);

  const std::string& socket() const;
  Result<std::string> version(Millis deadline = Millis{5'000}) const;
  Result<std::vector<std::string>> namespaces() const;
  Status create_namespace(std::string_view name) const;  // Ok when it is there already

  // What the returned lease's client() makes is kept from the garbage collector until the lease
  // ends: at its destruction, or after `lifetime` should this process die.
  Result<Lease> lease(Millis lifetime) const;

  // Content: blobs by digest.
  Result<ContentInfo> content(std::string_view digest) const;
  Result<std::vector<ContentInfo>> contents() const;
  // Writes a blob unless it is there, going on where an interrupted write of the same digest ended,
  // and sets its labels either way. `progress` gets the bytes written so far.
  using WriteProgress = std::function<void(int64_t bytes)>;
  Status write_file(const Descriptor& blob, const std::string& path, const Labels& labels,
                    const WriteProgress& progress = {}) const;
  Status write_bytes(const Descriptor& blob, std::string_view bytes, const Labels& labels) const;
  Result<std::string> read_content(std::string_view digest, size_t limit_bytes) const;
  Status set_content_labels(std::string_view digest, const Labels& labels) const;
  Status delete_content(std::string_view digest) const;

  // Snapshots: `key` names an active one, `name` a committed one (a chain id for image layers).
  // Keep them with a lease, or with the label "containerd.io/gc.root".
  Result<std::vector<Mount>> prepare_snapshot(std::string_view snapshotter, std::string_view key,
                                              std::string_view parent, const Labels& labels) const;
  Result<std::vector<Mount>> view_snapshot(std::string_view snapshotter, std::string_view key,
                                           std::string_view parent, const Labels& labels) const;
  Result<std::vector<Mount>> snapshot_mounts(std::string_view snapshotter,
                                             std::string_view key) const;
  Status commit_snapshot(std::string_view snapshotter, std::string_view key, std::string_view name,
                         const Labels& labels) const;
  Status remove_snapshot(std::string_view snapshotter, std::string_view key) const;
  Result<SnapshotInfo> snapshot(std::string_view snapshotter, std::string_view key) const;
  Result<std::vector<SnapshotInfo>> snapshots(std::string_view snapshotter) const;
  // What it takes on the disk, without its parents.
  Result<int64_t> snapshot_bytes(std::string_view snapshotter, std::string_view key) const;
  // Adds a snapshot that others made to this client's lease. Look whether it is there after that.
  Status hold_snapshot(std::string_view snapshotter, std::string_view name) const;
  // Unpacks a layer into mounts; returns what it is uncompressed (its digest is the diff id).
  Result<Descriptor> apply_layer(const Descriptor& layer, const std::vector<Mount>& mounts) const;

  // Images: names for manifests.
  Status put_image(const ImageRecord& image) const;  // creates, or points the name elsewhere
  // Sets these and leaves the others.
  Status set_image_labels(std::string_view name, const Labels& labels) const;
  Result<ImageRecord> image(std::string_view name) const;
  Result<std::vector<ImageRecord>> images() const;
  // `collect`: returns only after the garbage collector has run.
  Status delete_image(std::string_view name, bool collect) const;

  // Containers: what to run. Filters are containerd's: labels."tessera.dev/task"==x; any may match.
  Status create_container(const ContainerRecord& container) const;
  Result<ContainerRecord> container(std::string_view id) const;
  Result<std::vector<ContainerRecord>> containers(
      const std::vector<std::string>& filters = {}) const;
  Status set_container_labels(std::string_view id, const Labels& labels) const;
  Status delete_container(std::string_view id) const;

  // Tasks: what runs. `exec` names a further process of the container; empty is its first one.
  Result<uint32_t> create_task(std::string_view container, const std::vector<Mount>& rootfs,
                               const Stdio& stdio, const RuncOptions& runc) const;
  Status exec(std::string_view container, std::string_view exec, const Stdio& stdio,
              std::string_view process_json) const;  // then start()
  Result<uint32_t> start(std::string_view container, std::string_view exec = {}) const;
  Status kill(std::string_view container, std::string_view exec, int signal, bool all) const;
  // Of a process that has ended; a task only once all its processes are gone.
  Result<Exit> delete_task(std::string_view container) const;
  Result<Exit> delete_exec(std::string_view container, std::string_view exec) const;
  Status resize(std::string_view container, std::string_view exec, int rows, int columns) const;
  Status close_stdin(std::string_view container, std::string_view exec) const;
  // kTimeout when it has not ended within `deadline`.
  Result<Exit> wait(std::string_view container, std::string_view exec, Millis deadline) const;
  Result<TaskInfo> task(std::string_view container, std::string_view exec = {}) const;
  Result<std::vector<TaskInfo>> tasks() const;
  Result<std::vector<uint32_t>> pids(std::string_view container) const;

 private:
  friend class Lease;
  friend class Subscription;
  explicit Containerd(std::shared_ptr<const Connection> connection);
  Containerd under(std::string lease) const;

  std::shared_ptr<const Connection> connection_;
  std::string lease_;
};

// Owns one lease.
class Lease {
 public:
  Lease(Lease&& other) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  const Containerd& client() const { return client_; }
  const std::string& id() const { return client_.lease_; }
  // Ends it now and, with `collect`, waits until what nothing else holds is gone.
  Status release(bool collect);

 private:
  friend class Containerd;
  explicit Lease(Containerd client) : client_(std::move(client)) {}
  Containerd client_;
};

}  // namespace tessera::local
