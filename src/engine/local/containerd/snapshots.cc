// Snapshots, and unpacking layers into them.
#include "base/text.h"
#include "engine/local/containerd/connection.h"
#include "engine/local/containerd/containerd.h"

namespace tessera::local {

namespace {

namespace v1 = services::snapshots::v1;

template <class Request>
Request about(std::string_view snapshotter, std::string_view key) {
  Request request;
  request.set_snapshotter(std::string(snapshotter));
  request.set_key(std::string(key));
  return request;
}

template <class Request>
Request make(std::string_view snapshotter, std::string_view key, std::string_view parent,
             const Labels& labels) {
  Request request = about<Request>(snapshotter, key);
  request.set_parent(std::string(parent));
  set_labels(labels, request.mutable_labels());
  return request;
}

SnapshotKind to_kind(v1::Kind kind) {
  switch (kind) {
    case v1::VIEW:
      return SnapshotKind::kView;
    case v1::ACTIVE:
      return SnapshotKind::kActive;
    case v1::COMMITTED:
      return SnapshotKind::kCommitted;
    default:
      return SnapshotKind::kUnknown;
  }
}

SnapshotInfo to_info(const v1::Info& from) {
  return {from.name(), from.parent(), to_kind(from.kind()), to_labels(from.labels()),
          instant(from.created_at())};
}

}  // namespace

Result<std::vector<Mount>> Containerd::prepare_snapshot(std::string_view snapshotter,
                                                        std::string_view key,
                                                        std::string_view parent,
                                                        const Labels& labels) const {
  Call call(*connection_, cat("prepare the snapshot ", key), kQuickMs, lease_);
  auto request = make<v1::PrepareSnapshotRequest>(snapshotter, key, parent, labels);
  v1::PrepareSnapshotResponse reply;
  TRY_STATUS(call.done(connection_->snapshots->Prepare(call.context(), request, &reply)));
  return to_mounts(reply.mounts());
}

Result<std::vector<Mount>> Containerd::view_snapshot(std::string_view snapshotter,
                                                     std::string_view key, std::string_view parent,
                                                     const Labels& labels) const {
  Call call(*connection_, cat("view the snapshot ", parent), kQuickMs, lease_);
  auto request = make<v1::ViewSnapshotRequest>(snapshotter, key, parent, labels);
  v1::ViewSnapshotResponse reply;
  TRY_STATUS(call.done(connection_->snapshots->View(call.context(), request, &reply)));
  return to_mounts(reply.mounts());
}

Result<std::vector<Mount>> Containerd::snapshot_mounts(std::string_view snapshotter,
                                                       std::string_view key) const {
  Call call(*connection_, cat("tell the mounts of the snapshot ", key), kQuickMs, lease_);
  v1::MountsResponse reply;
  TRY_STATUS(call.done(connection_->snapshots->Mounts(
      call.context(), about<v1::MountsRequest>(snapshotter, key), &reply)));
  return to_mounts(reply.mounts());
}

Status Containerd::commit_snapshot(std::string_view snapshotter, std::string_view key,
                                   std::string_view name, const Labels& labels) const {
  Call call(*connection_, cat("commit the snapshot ", name), kTaskMs, lease_);
  auto request = about<v1::CommitSnapshotRequest>(snapshotter, key);
  request.set_name(std::string(name));
  set_labels(labels, request.mutable_labels());
  google::protobuf::Empty reply;
  return call.done(connection_->snapshots->Commit(call.context(), request, &reply));
}

Status Containerd::remove_snapshot(std::string_view snapshotter, std::string_view key) const {
  Call call(*connection_, cat("remove the snapshot ", key), kTaskMs, lease_);
  google::protobuf::Empty reply;
  return call.done(connection_->snapshots->Remove(
      call.context(), about<v1::RemoveSnapshotRequest>(snapshotter, key), &reply));
}

Result<SnapshotInfo> Containerd::snapshot(std::string_view snapshotter,
                                          std::string_view key) const {
  Call call(*connection_, cat("look up the snapshot ", key), kQuickMs, lease_);
  v1::StatSnapshotResponse reply;
  TRY_STATUS(call.done(connection_->snapshots->Stat(
      call.context(), about<v1::StatSnapshotRequest>(snapshotter, key), &reply)));
  return to_info(reply.info());
}

Result<std::vector<SnapshotInfo>> Containerd::snapshots(std::string_view snapshotter) const {
  Call call(*connection_, "list snapshots", kTaskMs, lease_);
  v1::ListSnapshotsRequest request;
  request.set_snapshotter(std::string(snapshotter));
  auto stream = connection_->snapshots->List(call.context(), request);
  v1::ListSnapshotsResponse reply;
  std::vector<SnapshotInfo> out;
  while (stream->Read(&reply))
    for (const auto& row : reply.info()) out.push_back(to_info(row));
  TRY_STATUS(call.done(stream->Finish()));
  return out;
}

Result<int64_t> Containerd::snapshot_bytes(std::string_view snapshotter,
                                           std::string_view key) const {
  Call call(*connection_, cat("measure the snapshot ", key), kTaskMs, lease_);
  v1::UsageResponse reply;
  TRY_STATUS(call.done(connection_->snapshots->Usage(
      call.context(), about<v1::UsageRequest>(snapshotter, key), &reply)));
  return reply.size();
}

Result<Descriptor> Containerd::apply_layer(const Descriptor& layer,
                                           const std::vector<Mount>& mounts) const {
  Call call(*connection_, cat("unpack the layer ", layer.digest), kTransferMs, lease_);
  services::diff::v1::ApplyRequest request;
  set_descriptor(layer, request.mutable_diff());
  set_mounts(mounts, request.mutable_mounts());
  services::diff::v1::ApplyResponse reply;
  TRY_STATUS(call.done(connection_->diff->Apply(call.context(), request, &reply)));
  return to_descriptor(reply.applied());
}

}  // namespace tessera::local
