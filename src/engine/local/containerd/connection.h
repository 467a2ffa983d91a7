#pragma once
// Inside of the containerd client: the channel, the stubs and one call on them. The only header
// here that knows gRPC; included by this folder's sources alone.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "containerd/services/containers/v1/containers.grpc.pb.h"
#include "containerd/services/content/v1/content.grpc.pb.h"
#include "containerd/services/diff/v1/diff.grpc.pb.h"
#include "containerd/services/events/v1/events.grpc.pb.h"
#include "containerd/services/images/v1/images.grpc.pb.h"
#include "containerd/services/leases/v1/leases.grpc.pb.h"
#include "containerd/services/namespaces/v1/namespace.grpc.pb.h"
#include "containerd/services/snapshots/v1/snapshots.grpc.pb.h"
#include "containerd/services/tasks/v1/tasks.grpc.pb.h"
#include "containerd/services/version/v1/version.grpc.pb.h"
#include "engine/local/containerd/types.h"

namespace tessera::local {

namespace services = ::containerd::services;

// A look into containerd's database. It can wait for a disk that is busy with a large unpack.
inline constexpr Millis kQuickMs{20'000};
// runc and its shim at work, on a machine under load.
inline constexpr Millis kTaskMs{60'000};
// A layer of tens of gigabytes on a slow disk.
inline constexpr Millis kTransferMs{3'600'000};
// How long a call waits for a daemon that is just restarting.
inline constexpr Millis kReconnectMs{5'000};

class Connection {
 public:
  Connection(std::string socket, std::string ns);

  const std::string socket;
  const std::string ns;
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<services::containers::v1::Containers::Stub> containers;
  const std::unique_ptr<services::content::v1::Content::Stub> content;
  const std::unique_ptr<services::diff::v1::Diff::Stub> diff;
  const std::unique_ptr<services::events::v1::Events::Stub> events;
  const std::unique_ptr<services::images::v1::Images::Stub> images;
  const std::unique_ptr<services::leases::v1::Leases::Stub> leases;
  const std::unique_ptr<services::namespaces::v1::Namespaces::Stub> namespaces;
  const std::unique_ptr<services::snapshots::v1::Snapshots::Stub> snapshots;
  const std::unique_ptr<services::tasks::v1::Tasks::Stub> tasks;
  const std::unique_ptr<services::version::v1::Version::Stub> version;
};

// One call: its metadata and deadline before, its failure as an Error after. `what` completes
// "cannot ...". Waits up to kReconnectMs, never past the deadline, for a daemon to be there.
class Call {
 public:
  Call(const Connection& connection, std::string what, Millis deadline, const std::string& lease);
  grpc::ClientContext* context() { return &context_; }
  Status done(const grpc::Status& status) const;

 private:
  const Connection& connection_;
  const std::string what_;
  const Millis deadline_;
  bool away_ = false;  // the daemon was not there within kReconnectMs
  grpc::ClientContext context_;
};

inline Instant instant(const google::protobuf::Timestamp& at) {
  return {at.seconds() * 1000 + at.nanos() / 1'000'000};
}

template <class ProtoMap>
Labels to_labels(const ProtoMap& from) {
  return {from.begin(), from.end()};
}
template <class ProtoMap>
void set_labels(const Labels& labels, ProtoMap* into) {
  for (const auto& [key, value] : labels) (*into)[key] = value;
}

template <class ProtoMounts>
std::vector<Mount> to_mounts(const ProtoMounts& from) {
  std::vector<Mount> out;
  for (const auto& mount : from)
    out.push_back({mount.type(),
                   mount.source(),
                   mount.target(),
                   {mount.options().begin(), mount.options().end()}});
  return out;
}
void set_mounts(const std::vector<Mount>& mounts,
                google::protobuf::RepeatedPtrField<::containerd::types::Mount>* into);

Descriptor to_descriptor(const ::containerd::types::Descriptor& from);
void set_descriptor(const Descriptor& descriptor, ::containerd::types::Descriptor* into);

// runc's options as containerd wants them in container and task.
google::protobuf::Any runc_options(const RuncOptions& options);
RuncOptions to_runc_options(const google::protobuf::Any& from);

}  // namespace tessera::local
